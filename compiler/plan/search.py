"""The search for a layout: of all that fit, the one that the time model says runs fastest."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ftc.compiler.plan.disk import host_ram_bytes
from ftc.compiler.plan.frame import Frame
from ftc.compiler.plan.memory import measure
from ftc.compiler.plan.plan import Memory, Sharding
from ftc.compiler.plan.sharding import offloads, shardings
from ftc.compiler.plan.time import pass_tokens, step_seconds
from ftc.spec.sections import Offload

_BLIND_ROWS = 8  # the largest micro-batch where the memory is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What a layout divides, keeps on the host and recomputes; a micro-batch completes it."""

    sharding: Sharding
    offload: Offload
    checkpointing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One layout, the seconds of its optimiser step, and one process's memory."""

    way: Way
    micro: int
    seconds: float
    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The chosen layout, and the fastest that differs from it in one thing, where one is known.

    A runner-up that does not fit is the one that needs least; None where there is no other.
    """

    chosen: Candidate
    sharding: Candidate | None
    offload: Candidate | None
    checkpointing: Candidate | None
    micro: Candidate | None


def search(frame: Frame) -> Search:
    """Return the fastest layout that fits; where none does, the leanest, with its numbers.

    Every way and every micro-batch that divides the global batch is ranked by the seconds of a
    step, and those that fit are told by the memory model. Where the memory is not known, the
    fastest of at most eight rows stands.
    """
    fitting, leanest = _measure_all(frame)
    if not fitting:
        chosen = min(leanest, key=lambda candidate: candidate.memory.device_bytes)
        return _compare(chosen, fitting, leanest)
    if fitting[0].memory.fits is None:
        few = [candidate for candidate in fitting if candidate.micro <= _BLIND_ROWS]
        fitting = few or [min(fitting, key=lambda candidate: candidate.micro)]
    return _compare(fitting[0], fitting, leanest)


def ways(frame: Frame) -> tuple[Way, ...]:
    """Return the ways to try: what the spec leaves open, in all combinations that exist."""
    written = frame.spec.training.gradient_checkpointing
    recomputing = (False, True) if written == "auto" else (written,)
    return tuple(
        Way(sharding=sharding, offload=offload, checkpointing=checkpointing)
        for sharding, checkpointing in product(shardings(frame), recomputing)
        for offload in offloads(frame, sharding)
    )


def _measure_all(frame: Frame) -> tuple[list[Candidate], list[Candidate]]:
    """Return all that fit, fastest first, and the leanest of each way, fitting or not.

    Of two that are as fast the one that needs less memory comes first.
    """
    fitting, leanest = [], []
    for way in ways(frame):
        tried = list(_measure_way(frame, way))
        fitting += [candidate for candidate in tried if candidate.memory.fits is not False]
        leanest.append(min(tried, key=lambda candidate: candidate.memory.device_bytes))
    fitting.sort(key=lambda c: (round(c.seconds, 6), c.memory.device_bytes))
    return fitting, leanest


def _measure_way(frame: Frame, way: Way) -> Iterator[Candidate]:
    """Yield the micro-batches of a way from one row on, until one does not fit.

    Memory grows with the micro-batch but for the last, which needs no accumulation: that one is
    tried in any case.
    """
    *rising, whole = reversed(frame.batch.micro_options)
    for micro in rising:
        candidate = _measure(frame, way, micro)
        yield candidate
        if candidate.memory.fits is False:
            break
    yield _measure(frame, way, whole)


def _measure(frame: Frame, way: Way, micro: int) -> Candidate:
    """Return a layout with its time and memory; the host's memory must hold what is offloaded."""
    hardware = frame.facts.hardware
    job = frame.job(way.sharding, checkpointing=way.checkpointing, micro=micro, offload=way.offload)
    memory = measure(job, hardware)
    asked = frame.spec.distribution.offload != "auto"
    chosen_here = not asked and way.offload != "none" and not job.swaps
    if chosen_here and host_ram_bytes(job, memory.device_bytes) > (hardware.host_ram_bytes or 0):
        memory = without_room(memory)
    step = frame.batch.decision.value
    tokens = pass_tokens(frame.arrangement, micro=micro, world=frame.world, step=step)
    seconds = step_seconds(job, hardware, tokens)
    return Candidate(way=way, micro=micro, seconds=seconds, memory=memory)


def least_device_bytes(frame: Frame) -> int:
    """Return the least that any layout needs of one device, whatever the device holds.

    The first and the last micro-batch of each way, as memory grows between them.
    """
    options = {frame.batch.micro_options[0], frame.batch.micro_options[-1]}
    memories = (
        frame.memory(
            way.sharding, checkpointing=way.checkpointing, micro=micro, offload=way.offload
        )
        for way in ways(frame)
        for micro in options
    )
    return min(memory.device_bytes for memory in memories)


def without_room(memory: Memory) -> Memory:
    """Return a peak that the device would hold and the host would not."""
    return Memory(
        allocated_bytes=memory.allocated_bytes,
        reserved_bytes=memory.reserved_bytes,
        device_bytes=memory.device_bytes,
        capacity_bytes=memory.capacity_bytes,
        fits=False,
        phases=memory.phases,
        largest_phase=memory.largest_phase,
        parts=memory.parts,
    )


def _compare(chosen: Candidate, fitting: list[Candidate], leanest: list[Candidate]) -> Search:
    """Find the runner-up of each choice: another value of it, the others as they are or better."""
    way = chosen.way

    def best(others: list[Candidate], least: list[Candidate]) -> Candidate | None:
        if others:
            return others[0]
        return min(least, key=lambda candidate: candidate.memory.device_bytes, default=None)

    return Search(
        chosen=chosen,
        sharding=best(
            [c for c in fitting if c.way.sharding != way.sharding],
            [c for c in leanest if c.way.sharding != way.sharding],
        ),
        offload=best(
            [c for c in fitting if c.way.offload != way.offload],
            [c for c in leanest if c.way.offload != way.offload],
        ),
        checkpointing=best(
            [c for c in fitting if c.way.checkpointing != way.checkpointing],
            [c for c in leanest if c.way.checkpointing != way.checkpointing],
        ),
        micro=best([c for c in fitting if c.way == way and c.micro != chosen.micro], []),
    )
