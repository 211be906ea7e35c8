"""The search for a layout: the first sharding, checkpointing and micro-batch that fit."""

from dataclasses import dataclass

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.frame import Frame
from ftc.compiler.plan.plan import Memory, Sharding
from ftc.compiler.plan.sharding import decide_sharding, shardings
from ftc.compiler.plan.source import decide

_ENOUGH_ROWS = 4  # with fewer rows at a time, recomputing activations buys more than it costs
_BLIND_ROWS = 8  # the largest micro-batch where the memory is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One layout and what it needs."""

    sharding: Sharding
    checkpointing: bool
    micro: int
    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The chosen layout and its memory."""

    sharding: Decision[Sharding]
    checkpointing: Decision[bool]
    micro: Decision[int]
    memory: Memory


def decide_layout(frame: Frame) -> Layout:
    """Return the first layout that fits: single or DDP, then ZeRO-2, then ZeRO-3.

    In each, checkpointing is off if four rows fit without it, and the micro-batch is the largest
    that fits. Where nothing fits, the leanest layout stands, with its numbers.
    """
    options = shardings(frame)
    for sharding in options:
        found = _fitting(frame, sharding)
        if found is not None:
            return _layout(frame, found, options)
    return _layout(frame, _leanest(frame, options), options)


def _fitting(frame: Frame, sharding: Sharding) -> Candidate | None:
    """Return the best layout of one sharding, None if nothing of it fits."""
    written = frame.spec.training.gradient_checkpointing
    if written != "auto":
        return _largest(frame, sharding, checkpointing=written)
    plain = _largest(frame, sharding, checkpointing=False)
    enough = min(_ENOUGH_ROWS, *frame.batch.micro_options[:1])
    if plain is not None and plain.micro >= enough:
        return plain
    return _largest(frame, sharding, checkpointing=True) or plain


def _largest(frame: Frame, sharding: Sharding, *, checkpointing: bool) -> Candidate | None:
    """Return the largest micro-batch that fits.

    Memory grows with the micro-batch but for the first, which needs no accumulation: that one is
    tried by itself, the others by halving.
    """

    def candidate(micro: int) -> Candidate:
        memory = frame.memory(sharding, checkpointing=checkpointing, micro=micro)
        return Candidate(sharding=sharding, checkpointing=checkpointing, micro=micro, memory=memory)

    first, *others = frame.batch.micro_options
    best = candidate(first)
    if best.memory.fits is None:
        cautious = next((n for n in (first, *others) if n <= _BLIND_ROWS), (first, *others)[-1])
        return candidate(cautious)
    if best.memory.fits:
        return best
    found = None
    low, high = 0, len(others)
    while low < high:
        middle = (low + high) // 2
        tried = candidate(others[middle])
        if tried.memory.fits:
            found, high = tried, middle
        else:
            low = middle + 1
    return found


def _leanest(frame: Frame, options: tuple[Sharding, ...]) -> Candidate:
    """Return the layout of least memory: one row at a time, checkpointing on, states divided."""
    written = frame.spec.training.gradient_checkpointing
    checkpointing = True if written == "auto" else written
    micro = frame.batch.micro_options[-1]
    candidates = [
        Candidate(
            sharding=sharding,
            checkpointing=checkpointing,
            micro=micro,
            memory=frame.memory(sharding, checkpointing=checkpointing, micro=micro),
        )
        for sharding in options
    ]
    return min(candidates, key=lambda candidate: candidate.memory.device_bytes)


def _layout(frame: Frame, chosen: Candidate, options: tuple[Sharding, ...]) -> Layout:
    """Put the reasons to a chosen layout."""
    memory, micro, checkpointing = chosen.memory, chosen.micro, chosen.checkpointing
    fits = {True: "fits", False: "tight", None: "unknown"}[memory.fits]
    if memory.fits and micro == frame.batch.rows_per_process:
        fits = "whole"
    values = {
        "device_bytes": memory.device_bytes,
        "capacity_bytes": memory.capacity_bytes,
        "rows": frame.batch.rows_per_process,
    }

    def derive_checkpointing() -> tuple[bool, Because]:
        key = f"checkpointing.{'on' if checkpointing else 'off'}"
        return checkpointing, Because(key=key, values={"rows": _ENOUGH_ROWS})

    def derive_micro() -> tuple[int, Because]:
        return micro, Because(key=f"micro_batch.{fits}", values=values)

    training = frame.spec.training
    return Layout(
        sharding=decide_sharding(frame, chosen.sharding, options),
        checkpointing=decide(
            frame.spec,
            "/training/gradient_checkpointing",
            training.gradient_checkpointing,
            derive_checkpointing,
        ),
        micro=decide(frame.spec, "/training/micro_batch", training.micro_batch, derive_micro),
        memory=memory,
    )
