"""Searches for a layout: the fastest that fits, by the time model, with a memory reserve.

A layout is a sharding, an offload, gradient checkpointing and a micro-batch. The search also gives
the reason of the choice and the cost of the runner-up.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

from ftc.compiler.plan.decision import Because, Decision, decide, derived
from ftc.compiler.plan.memory.peak import measure
from ftc.compiler.plan.objective.vectors import pairs_in_passes
from ftc.compiler.plan.plan import Memory, Recomputing, Sharding
from ftc.compiler.plan.search.space import (
    SELECTIVE,
    Frame,
    is_held,
    may_fuse,
    offloads,
    partly_recomputed,
    shardings,
)
from ftc.compiler.plan.time.run import pass_tokens, step_seconds
from ftc.spec.sections import Offload

_BLIND_ROWS = 8  # the largest micro-batch where the memory is not known
_SAME = 0.0005  # smaller differences count as equal
#: Of a GPU's memory, left free beyond the margin where that costs little speed: for other programs,
#: and for what the allocator keeps only while there is room (`benchmarks/memory.md`).
FREE_SHARE: Final = 0.08
_FREE_COST: Final = 0.1  # the most of the step time that is given up to keep memory free
_FUSED_GAIN: Final = 0.02  # of the step time, for which the planner adds Liger's package


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A layout without its micro-batch: what is divided, kept on the host and recomputed."""

    sharding: Sharding
    offload: Offload
    checkpointing: Recomputing


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One layout, the seconds of its optimizer step, and one process's memory.

    A layout that does not fit has infinite seconds, since its time is not computed.
    """

    way: Way
    micro: int
    seconds: float
    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The chosen layout, and for each of its parts the runner-up with another value of that part.

    The runner-up is the fastest that fits, else the one that needs least memory; None where there
    is no other. `liger` says whether these are layouts with Liger's kernels; `other` is the choice
    with the other kernels, None where those were not tried. `fastest` is the fastest that fits,
    where the chosen one leaves more memory free; `roomy` the fastest that leaves enough free, where
    the chosen one does not.
    """

    chosen: Candidate
    liger: bool
    other: Candidate | None
    fastest: Candidate | None
    roomy: Candidate | None
    sharding: Candidate | None
    offload: Candidate | None
    checkpointing: Candidate | None
    micro: Candidate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The chosen layout and its memory."""

    sharding: Decision[Sharding]
    offload: Decision[Offload]
    checkpointing: Decision[Recomputing]
    micro: Decision[int]
    liger: Decision[bool] | None
    memory: Memory


def decide_layout(frame: Frame, found: Search) -> Layout:
    """Return the chosen layout, each part of it with its reason."""
    spec, chosen, fastest = frame.spec, found.chosen, found.fastest
    written = spec.distribution
    way = chosen.way

    def derive_checkpointing() -> tuple[Recomputing, Because]:
        if chosen.memory.fits is False and not way.checkpointing:
            return way.checkpointing, Because(key="checkpointing.unfit")
        if fastest is not None and fastest.way.checkpointing != way.checkpointing:
            return way.checkpointing, _why_free(chosen, fastest)
        because = _because(_recomputing_key(way), chosen, found.checkpointing)
        values = {**because.values, **_every(way.checkpointing)}
        return way.checkpointing, Because(key=because.key, values=values)

    def derive_micro() -> tuple[int, Because]:
        return chosen.micro, _why_micro(frame, found)

    def derive_offload() -> tuple[Offload, Because]:
        if written.nvme_path is not None and way.offload != "none":
            states = way.offload == "optimizer"
            key = "offload.optimizer.nvme" if states else "offload.parameters.nvme"
            return way.offload, Because(key=key)
        if fastest is not None and fastest.way.offload != way.offload:
            return way.offload, _why_free(chosen, fastest)
        return way.offload, _because(f"offload.{way.offload}", chosen, _slower(found.offload))

    return Layout(
        sharding=_decide_sharding(frame, found),
        offload=decide(spec, "/distribution/offload", written.offload, derive_offload),
        checkpointing=decide(
            spec,
            "/training/gradient_checkpointing",
            spec.training.gradient_checkpointing,
            derive_checkpointing,
        ),
        micro=decide(spec, "/training/micro_batch", spec.training.micro_batch, derive_micro),
        liger=_decide_liger(frame, found),
        memory=chosen.memory,
    )


def _why_not_fused(frame: Frame) -> str:
    """Return the reason key for a search without Liger's kernels that had no alternative."""
    if may_fuse(frame):
        return "liger.unneeded"
    if frame.spec.training.compile is True:
        return "liger.compiled"
    hardware = frame.facts.hardware
    known = hardware.kind == "gpu" and hardware.compute_capability is not None
    return "liger.unwritten" if known else "liger.unusable"


def _decide_liger(frame: Frame, found: Search) -> Decision[bool] | None:
    """Return whether Liger's kernels are used; None under objectives that do not read the field."""
    spec, other = frame.spec, found.other
    if spec.objective.type not in SELECTIVE:
        return None

    def derive() -> tuple[bool, Because]:
        if other is None:
            return False, Because(key=_why_not_fused(frame))
        if not found.liger:
            return False, Because(key="liger.no_faster")
        if not other.memory.fits:
            return True, Because(
                key="liger.fits", values={"device_bytes": other.memory.device_bytes}
            )
        slower = other.seconds / found.chosen.seconds - 1
        return True, Because(key="liger.faster", values={"slower_share": slower})

    return decide(spec, "/training/liger", spec.training.liger, derive)


def _recomputing_key(way: Way) -> str:
    """Return the reason key for the recomputed layers."""
    if isinstance(way.checkpointing, bool):
        return "checkpointing.on" if way.checkpointing else "checkpointing.off"
    name = way.checkpointing if isinstance(way.checkpointing, str) else "every"
    return "checkpointing." + name


def _every(checkpointing: Recomputing) -> dict[str, int]:
    partial = not isinstance(checkpointing, bool | str)
    return {"every": int(checkpointing)} if partial else {}


def _decide_sharding(frame: Frame, found: Search) -> Decision[Sharding]:
    way, written = found.chosen.way, frame.spec.distribution.strategy

    def derive() -> tuple[Sharding, Because]:
        if frame.spec.distribution.nvme_path is not None:
            return way.sharding, Because(key="sharding.nvme")
        if frame.spec.distribution.offload in ("optimizer", "parameters"):
            return way.sharding, Because(key="sharding.offload")
        if found.chosen.memory.fits is False:
            return way.sharding, Because(key="sharding.unfit")
        fastest = found.fastest
        if fastest is not None and fastest.way.sharding != way.sharding:
            return way.sharding, _why_free(found.chosen, fastest)
        because = _because(f"sharding.{way.sharding}", found.chosen, found.sharding)
        values = {**because.values, "world": frame.world.value}
        return way.sharding, Because(key=because.key, values=values)

    if way.sharding == "single":
        return derived(way.sharding, "sharding.single")
    return decide(frame.spec, "/distribution/strategy", written, derive)


def _because(key: str, chosen: Candidate, runner: Candidate | None) -> Because:
    """Return the reason with the cost of the runner-up: its additional time, or its memory.

    The reason has no cost without a runner-up, or if the difference is unknown.
    """
    if runner is None or chosen.memory.fits is None:
        return Because(key=key)
    values: dict[str, Any] = {"runner": runner.way.sharding, "rows": runner.micro}
    if runner.memory.fits is False:
        needs = {**values, "device_bytes": runner.memory.device_bytes}
        return Because(key=f"{key}.needs", values=needs)
    if chosen.memory.fits is False:
        return Because(key=key)
    slower = runner.seconds / chosen.seconds - 1
    if slower < _SAME:
        return Because(key=key)
    return Because(key=f"{key}.slower", values={**values, "slower_share": slower})


def _slower(runner: Candidate | None) -> Candidate | None:
    """Return the runner-up if it fits: one that does not is no alternative to offloading."""
    return runner if runner is not None and runner.memory.fits else None


def _why_free(chosen: Candidate, fastest: Candidate) -> Because:
    """Return the reason of a layout that is not the fastest, because it leaves memory free."""
    values = {
        "device_bytes": chosen.memory.device_bytes,
        "capacity_bytes": chosen.memory.capacity_bytes,
        "fastest_bytes": fastest.memory.device_bytes,
        "slower_share": chosen.seconds / fastest.seconds - 1,
    }
    return Because(key="layout.free", values=values)


def _why_micro(frame: Frame, found: Search) -> Because:
    chosen, runner = found.chosen, found.micro
    memory, rows = chosen.memory, frame.batch.rows_per_process
    sizes = {"device_bytes": memory.device_bytes, "capacity_bytes": memory.capacity_bytes}
    if memory.fits is None:
        return Because(key="micro_batch.unknown", values={"rows": rows})
    if memory.fits is False:
        return Because(key="micro_batch.tight", values=sizes)
    if found.fastest is not None:
        return _why_free(chosen, found.fastest)
    if found.roomy is not None:
        slower = found.roomy.seconds / chosen.seconds - 1
        return Because(key="micro_batch.full", values={**sizes, "slower_share": slower})
    if frame.facts.hardware.kind == "gpu" and not leaves_room(memory):
        return Because(key="micro_batch.least", values=sizes)
    whole = chosen.micro == rows
    if pairs_in_passes(frame.spec.objective, frame.facts.data):
        return Because(key="micro_batch.pairs" if whole else "micro_batch.pairs.part", values=sizes)
    if runner is None:
        return Because(key="micro_batch.whole" if whole else "micro_batch.only", values=sizes)
    slower = runner.seconds / chosen.seconds - 1
    values = {**sizes, "rows": runner.micro, "slower_share": slower}
    key = "micro_batch.whole.slower" if whole else "micro_batch.fastest.slower"
    return Because(key=key, values=values)


def search(frame: Frame) -> Search:
    """Return the layout to use, with Liger's kernels where they make room for a faster one.

    They keep less for the backward pass, so they are tried where the layout without them recomputes
    something, keeps something on the host, takes several passes for a step or does not fit.
    Embedding models have no such kernels, and rerankers need large passes.
    """
    plain = replace(_search(frame), liger=frame.liger)
    if pairs_in_passes(frame.spec.objective, frame.facts.data):
        return _keep_pairs_together(frame, plain)
    way, rows = plain.chosen.way, frame.batch.rows_per_process
    divided = way.checkpointing or way.offload != "none" or plain.chosen.micro < rows
    if not may_fuse(frame) or not (divided or plain.chosen.memory.fits is False):
        return plain
    fused = _search(replace(frame, liger=True))
    if _is_better(fused.chosen, plain.chosen):
        return replace(fused, liger=True, other=plain.chosen)
    return replace(plain, other=fused.chosen)


def _keep_pairs_together(frame: Frame, found: Search) -> Search:
    """Return the layout with the largest micro-batch that leaves room, though it may be slower.

    The loss compares the pairs of one pass, so a smaller pass changes the loss. If no layout leaves
    room, or the memory is unknown, the result is `found`.
    """
    for micro in frame.batch.micro_options if found.chosen.memory.fits else ():
        tried = _search(replace(frame, batch=replace(frame.batch, micro_options=(micro,))))
        if tried.chosen.memory.fits and leaves_room(tried.chosen.memory):
            return replace(tried, liger=frame.liger)
    return found


def _is_better(fused: Candidate, plain: Candidate) -> bool:
    """Return whether a layout with Liger's kernels is worth an additional package."""
    if plain.memory.fits is None or not fused.memory.fits:
        return False
    return not plain.memory.fits or plain.seconds > (1 + _FUSED_GAIN) * fused.seconds


def _search(frame: Frame) -> Search:
    """Return the fastest layout that fits, or the one that needs least memory where none fits.

    Every way with every micro-batch that divides the global batch is ranked by the seconds of a
    step; the memory model says which of them fit. On a GPU the fastest that leaves `FREE_SHARE` of
    the memory free is chosen, unless it is a tenth slower than the fastest. Where the device's
    memory is not known, the fastest of at most eight rows is chosen. Activations go to the host
    only where nothing else fits, since nobody has measured how long that takes.
    """
    fitting, leanest = _measure_all(frame, ways(frame))
    if not fitting:
        fitting, others = _measure_all(frame, host_ways(frame, leanest))
        leanest += others if fitting else []
    if not fitting:
        chosen = min(leanest, key=lambda candidate: candidate.memory.device_bytes)
        return _compare(chosen, fitting, leanest)
    if fitting[0].memory.fits is None:
        few = [candidate for candidate in fitting if candidate.micro <= _BLIND_ROWS]
        fitting = few or [min(fitting, key=lambda candidate: candidate.micro)]
    fastest = fitting[0]
    if frame.facts.hardware.kind != "gpu" or leaves_room(fastest.memory):
        return _compare(fastest, fitting, leanest)
    roomy = next((candidate for candidate in fitting if leaves_room(candidate.memory)), None)
    if roomy is None or roomy.seconds > (1 + _FREE_COST) * fastest.seconds:
        return replace(_compare(fastest, fitting, leanest), roomy=roomy)
    return replace(_compare(roomy, fitting, leanest), fastest=fastest)


def leaves_room(memory: Memory) -> bool:
    """Tell whether a layout leaves `FREE_SHARE` of the memory free; so does an unknown capacity."""
    capacity = memory.capacity_bytes
    return capacity is None or memory.device_bytes <= (1 - FREE_SHARE) * capacity


def ways(frame: Frame) -> tuple[Way, ...]:
    """Return the ways to try: all valid combinations of what the spec leaves open."""
    written = frame.spec.training.gradient_checkpointing
    recomputing = (False, True) if written == "auto" else (written,)
    return tuple(
        Way(sharding=sharding, offload=offload, checkpointing=checkpointing)
        for sharding, checkpointing in product(shardings(frame), recomputing)
        for offload in offloads(frame, sharding)
    )


def host_ways(frame: Frame, leanest: Iterable[Candidate]) -> tuple[Way, ...]:
    """Return the leanest way with activations in host memory, or nothing if that is no option.

    It is an option if the spec leaves it open, the trainer does not switch recomputing off and on,
    the host's memory is known, and the device can hold the rest.
    """
    hardware = frame.facts.hardware
    open_here = (
        frame.spec.training.gradient_checkpointing == "auto" and not frame.switches_recomputing
    )
    if not open_here or hardware.kind != "gpu" or hardware.host_ram_bytes is None:
        return ()
    least = min(
        (each for each in leanest if each.way.checkpointing is True),
        key=lambda each: each.memory.device_bytes,
    )
    memory = least.memory
    moved = memory.parts[memory.largest_phase].get("activations", 0)
    if memory.device_bytes - moved > (memory.capacity_bytes or 0):
        return ()
    return (replace(least.way, checkpointing="offload"),)


def _measure_all(
    frame: Frame, tried_ways: tuple[Way, ...]
) -> tuple[list[Candidate], list[Candidate]]:
    """Return all candidates that fit, fastest first, and the one of least memory for each way.

    Of two that are equally fast, the one that needs less memory comes first.
    """
    tried = {way: list(_measure_way(frame, way)) for way in tried_ways}
    leanest = [
        min(each, key=lambda candidate: candidate.memory.device_bytes) for each in tried.values()
    ]
    fitting = [c for each in tried.values() for c in each if c.memory.fits is not False]
    fitting += _measure_between(frame, tried)
    fitting.sort(key=lambda c: (round(c.seconds, 6), c.memory.device_bytes))
    return fitting, leanest


def _measure_between(frame: Frame, tried: Mapping[Way, list[Candidate]]) -> list[Candidate]:
    """Return what fits with a part of the activations recomputed.

    That is between recomputing all and none, in memory and in time: worth trying with a micro-batch
    for which only the former fits, or leaves room.
    """
    found = []
    for way, candidates in tried.items():
        if way.checkpointing is not True or replace(way, checkpointing=False) not in tried:
            continue
        stored = tried[replace(way, checkpointing=False)]
        easy = {c.micro for c in stored if c.memory.fits is not False and leaves_room(c.memory)}
        rows = sorted({c.micro for c in candidates if c.memory.fits} - easy)
        for partly in partly_recomputed(frame, way.sharding) if rows else ():
            found += _measure_part(frame, replace(way, checkpointing=partly), rows)
    return found


def _measure_part(frame: Frame, way: Way, rows: Sequence[int]) -> list[Candidate]:
    """Return the candidates of a way that fit: the largest micro-batches, down to one with room.

    Smaller ones are slower. The smallest is measured first: if it does not fit, none does.
    """
    least = _measure(frame, way, rows[0])
    found: list[Candidate] = []
    for micro in reversed(rows[1:]) if least.memory.fits else ():
        candidate = _measure(frame, way, micro)
        if candidate.memory.fits:
            found.append(candidate)
            if leaves_room(candidate.memory):
                return found
    return [*found, least] if least.memory.fits else found


def _measure_way(frame: Frame, way: Way) -> Iterator[Candidate]:
    """Yield the candidates of a way by rising micro-batch, until one does not fit.

    Memory grows with the micro-batch, except for the last, which needs no accumulation. That one is
    always tried.
    """
    *rising, whole = reversed(frame.batch.micro_options)
    for micro in rising:
        candidate = _measure(frame, way, micro)
        yield candidate
        if candidate.memory.fits is False:
            break
    yield _measure(frame, way, whole)


def _measure(frame: Frame, way: Way, micro: int) -> Candidate:
    """Return a layout with its time and memory. The host must be able to hold what is offloaded."""
    hardware = frame.facts.hardware
    job = frame.job(way.sharding, checkpointing=way.checkpointing, micro=micro, offload=way.offload)
    memory = measure(job, hardware)
    if not is_held(frame, job, memory):
        memory = replace(memory, fits=False)  # it fits on the device, but not on the host
    if memory.fits is False:
        return Candidate(way=way, micro=micro, seconds=math.inf, memory=memory)
    step = frame.batch.decision.value
    tokens = pass_tokens(frame.arrangement, micro=micro, world=frame.world.value, step=step)
    seconds = step_seconds(job, hardware, tokens)
    return Candidate(way=way, micro=micro, seconds=seconds, memory=memory)


def least_device_bytes(frame: Frame) -> int | None:
    """Return the least memory that any layout needs of one device, whatever its capacity.

    The first and the last micro-batch of each way are enough, as memory grows between them. Returns
    None if the host holds no layout.
    """
    frame = replace(frame, liger=frame.liger or may_fuse(frame))
    options = {frame.batch.micro_options[0], frame.batch.micro_options[-1]}
    measured = (_weigh(frame, way, micro) for way, micro in product(ways(frame), options))
    return min((memory.device_bytes for memory, is_held in measured if is_held), default=None)


def _weigh(frame: Frame, way: Way, micro: int) -> tuple[Memory, bool]:
    """Return the memory of a layout, and whether the host holds what is offloaded to it."""
    job = frame.job(way.sharding, checkpointing=way.checkpointing, micro=micro, offload=way.offload)
    memory = measure(job, frame.facts.hardware)
    return memory, is_held(frame, job, memory)


def _compare(chosen: Candidate, fitting: list[Candidate], leanest: list[Candidate]) -> Search:
    """Return the chosen candidate with the runner-up for each part of its layout."""
    way = chosen.way

    def best(others: list[Candidate], least: list[Candidate]) -> Candidate | None:
        if others:
            return others[0]
        return min(least, key=lambda candidate: candidate.memory.device_bytes, default=None)

    return Search(
        chosen=chosen,
        liger=False,
        other=None,
        fastest=None,
        roomy=None,
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
