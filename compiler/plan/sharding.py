"""The layout that fits: how processes share a model, checkpointing, and the micro-batch."""

from dataclasses import dataclass

from ftc.compiler.plan.adapter import Adapter, hit
from ftc.compiler.plan.batch import Batch
from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.memory import measure, workspace_bytes
from ftc.compiler.plan.plan import Memory, Sharding
from ftc.compiler.plan.precision import decide_attention, decide_load_dtype
from ftc.compiler.plan.size import shape_of
from ftc.compiler.plan.source import decide, derived, keep
from ftc.spec.sections import Precision, Spec

_ENOUGH_ROWS = 4  # with fewer rows at a time, recomputing activations buys more than it costs
_BLIND_ROWS = 8  # the micro-batch where the memory is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What is decided before the search: everything a job needs but its layout."""

    spec: Spec
    facts: KnownFacts
    precision: Precision
    adapter: Adapter | None
    max_length: int
    batch: Batch
    world: int

    def job(self, sharding: Sharding, *, checkpointing: bool, micro: int) -> Job:
        """Return the process that this layout gives."""
        spec, shape, adapter = self.spec, shape_of(self.facts.model), self.adapter
        load = decide_load_dtype(spec, self.precision, sharding).value
        targets = hit(shape, adapter.targets.value) if adapter else ()
        return Job(
            shape=shape,
            full=adapter is None,
            trainable=shape.parameters if adapter is None else adapter.parameters,
            targets=targets,
            dropout=adapter.dropout.value if adapter else 0.0,
            load_bytes=4 if load == "fp32" else 2,
            compute_bytes=4 if self.precision == "fp32" else 2,
            attention=decide_attention(spec).value,
            sharding=sharding,
            world=self.world,
            micro=micro,
            accumulation=self.batch.rows_per_process // micro,
            length_tokens=self.max_length,
            checkpointing=checkpointing,
            gpu=self.facts.hardware.kind == "gpu",
            workspace_bytes=workspace_bytes(self.facts.hardware),
        )

    def memory(self, sharding: Sharding, *, checkpointing: bool, micro: int) -> Memory:
        """Return the peak of one process of this layout."""
        job = self.job(sharding, checkpointing=checkpointing, micro=micro)
        return measure(job, self.facts.hardware)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The chosen layout and its memory."""

    sharding: Decision[Sharding]
    checkpointing: Decision[bool]
    micro: Decision[int]
    memory: Memory


def decide_world(facts: KnownFacts) -> Decision[int]:
    """One process per GPU, or as many processes as the spec asks of a CPU."""
    hardware = facts.hardware
    values = {"count": max(1, hardware.count), "hardware": hardware.name}
    return derived(max(1, hardware.count), f"world.{hardware.kind}", **values)


def decide_layout(frame: Frame) -> Layout:
    """Return the first sharding that fits, in the order single or DDP, ZeRO-2, ZeRO-3.

    In each, checkpointing is off if four rows fit without it, and the micro-batch is the largest
    that fits. Where nothing fits, the leanest layout stands, with its numbers.
    """
    options = _shardings(frame)
    for sharding in options:
        layout = _fitting(frame, sharding, options)
        if layout is not None:
            return layout
    return _leanest(frame, options)


def _shardings(frame: Frame) -> tuple[Sharding, ...]:
    strategy = frame.spec.distribution.strategy
    if strategy == "auto":
        return ("single",) if frame.world == 1 else ("ddp", "zero2", "zero3")
    if strategy == "ddp" and frame.world == 1:
        return ("single",)
    return (strategy,)


def _fitting(frame: Frame, sharding: Sharding, options: tuple[Sharding, ...]) -> Layout | None:
    """Return the best layout of one sharding, None if nothing of it fits."""
    written = frame.spec.training.gradient_checkpointing
    rows = frame.batch.rows_per_process
    for checkpointing in (False, True) if written == "auto" else (written,):
        enough = 1 if checkpointing or written != "auto" else min(_ENOUGH_ROWS, rows)
        for micro in frame.batch.micro_options:
            if micro < enough and len(frame.batch.micro_options) > 1:
                break
            memory = frame.memory(sharding, checkpointing=checkpointing, micro=micro)
            if (
                memory.fits is None
                and micro > _BLIND_ROWS
                and micro != frame.batch.micro_options[-1]
            ):
                continue
            if memory.fits is not False:
                return _layout(
                    frame,
                    sharding,
                    checkpointing=checkpointing,
                    micro=micro,
                    memory=memory,
                    options=options,
                )
    return None


def _leanest(frame: Frame, options: tuple[Sharding, ...]) -> Layout:
    """Return the layout of least memory: one row at a time, checkpointing on, states divided."""
    written = frame.spec.training.gradient_checkpointing
    checkpointing = True if written == "auto" else written
    micro = frame.batch.micro_options[-1]
    memories = {
        sharding: frame.memory(sharding, checkpointing=checkpointing, micro=micro)
        for sharding in options
    }
    best = min(options, key=lambda sharding: memories[sharding].device_bytes)
    return _layout(
        frame,
        best,
        checkpointing=checkpointing,
        micro=micro,
        memory=memories[best],
        options=options,
    )


def _layout(
    frame: Frame,
    sharding: Sharding,
    *,
    checkpointing: bool,
    micro: int,
    memory: Memory,
    options: tuple[Sharding, ...],
) -> Layout:
    """Put the reasons to a chosen layout."""
    values = {
        "device_bytes": memory.device_bytes,
        "capacity_bytes": memory.capacity_bytes,
        "rows": frame.batch.rows_per_process,
    }
    fits = {True: "fits", False: "tight", None: "unknown"}[memory.fits]

    def derive_checkpointing() -> tuple[bool, Because]:
        key = f"checkpointing.{'on' if checkpointing else 'off'}"
        return checkpointing, Because(key=key, values={"rows": _ENOUGH_ROWS})

    def derive_micro() -> tuple[int, Because]:
        return micro, Because(key=f"micro_batch.{fits}", values=values)

    training = frame.spec.training
    return Layout(
        sharding=_sharding_decision(frame, sharding, options),
        checkpointing=decide(
            frame.spec,
            "/training/gradient_checkpointing",
            training.gradient_checkpointing,
            derive_checkpointing,
        ),
        micro=decide(frame.spec, "/training/micro_batch", training.micro_batch, derive_micro),
        memory=memory,
    )


def _sharding_decision(
    frame: Frame, sharding: Sharding, options: tuple[Sharding, ...]
) -> Decision[Sharding]:
    strategy = frame.spec.distribution.strategy
    if strategy == sharding:
        return keep(frame.spec, "/distribution/strategy", sharding)
    if sharding == "single":
        return derived(sharding, "sharding.single")
    first = options[0] == sharding
    key = "sharding.ddp" if first else f"sharding.{sharding}"
    return derived(sharding, key, world=frame.world)
