"""The rules about memory, disk and sharding (FTC420 to FTC439)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.plan.memory import needed_bytes
from ftc.compiler.plan.sampling import samples
from ftc.compiler.plan.stack import GIB

_TIGHT_SHARE = 0.92


def gib(size_bytes: int) -> str:
    """Return a size in GiB with one decimal, as a person reads it."""
    return f"{size_bytes / GIB:,.1f} GiB"


@rule("FTC420", "does-not-fit", "error", reads=("hardware", "plan"))
def does_not_fit(case: Case) -> Iterator[Problem]:
    """What it is: The predicted peak of one process is more than its device has.

    Why it matters: The run would stop with "out of memory", often only after minutes or at the
    first evaluation.

    Example: {"model": "Qwen/Qwen2.5-7B", "method": "full", "hardware": "1x RTX-4090"}

    Use instead: {"model": "Qwen/Qwen2.5-7B", "method": "lora", "hardware": "1x RTX-4090"}
    """
    memory = case.plan.memory
    if memory.fits is not False or memory.capacity_bytes is None:
        return
    offers = "; ".join(f"{a.change}: {gib(a.device_bytes)}" for a in case.plan.alternatives)
    # a purchase is never a fix that a command makes by itself
    change = next((a for a in case.plan.alternatives if a.kind != "hardware"), None)
    fix = change.fix if change is not None else ()
    same = change is not None and change.kind == "layout"
    same = same and all(step["path"] != "/training/precision" for step in fix)
    phase = memory.largest_phase.replace("_", " ")
    yield Problem(
        message=f"{gib(memory.device_bytes)} are needed at the peak ({phase}), and "
        f"{case.hardware.name} has {gib(memory.capacity_bytes)} per process",
        help=f"what would fit: {offers}"
        if offers
        else "use more or larger GPUs, or a smaller model",
        pointer="/hardware/gpu",
        fix=fix,
        fix_safety="safe" if same else "unsafe",
    )


@rule("FTC421", "tight-fit", "warning", reads=("plan",))
def tight_fit(case: Case) -> Iterator[Problem]:
    """What it is: The predicted peak is more than 92 % of what the device has.

    Why it matters: A desktop, another process or a fragmented allocator can take the rest. The
    bundle falls back to smaller micro-batches when memory runs out, which costs a restart.

    Example: {"hardware": "1x A100-80GB", "training": {"micro_batch": 64}}

    Use instead: {"hardware": "1x A100-80GB", "training": {"micro_batch": 32}}
    """
    memory, decided = case.plan.memory, case.plan.decisions
    said = decided.micro_batch.source == "spec"
    needed = needed_bytes(memory, decided.sharding.value)
    if (
        memory.fits
        and memory.capacity_bytes is not None
        and needed > _TIGHT_SHARE * memory.capacity_bytes
        and (said or decided.micro_batch.value == 1)
    ):
        yield Problem(
            message=f"{gib(needed)} of {gib(memory.capacity_bytes)} are needed at the peak",
            help="leave `training.micro_batch` out, or shorten `data.max_length`",
            pointer="/training/micro_batch" if said else "/hardware/gpu",
        )


@rule("FTC422", "host-memory-too-small", "error", reads=("hardware", "plan"))
def host_memory_too_small(case: Case) -> Iterator[Problem]:
    """What it is: Loading, merging or what is offloaded needs more host memory than there is.

    Why it matters: The merge runs on the CPU with the whole model in 16 bits; the system kills it
    after the training that was paid for. Offloaded states lie there throughout.

    Example: {"model": "Qwen/Qwen2.5-72B", "hardware": {"gpu": "H100", "count": 8, "ram_gib": 64}}

    Use instead: {"model": "Qwen/Qwen2.5-72B", "hardware": {"gpu": "H100", "count": 8}}
    """
    ram, need = case.hardware.host_ram_bytes, case.plan.host_ram_bytes
    offload = case.plan.decisions.offload.value
    if (
        ram is not None
        and need > ram
        and not (case.hardware.kind == "cpu" and case.plan.memory.fits is False)
    ):
        yield Problem(
            message=f"the host needs {gib(need)} of memory and has {gib(ram)}",
            help="use a host with more memory, or "
            + ("merge on another machine" if offload == "none" else "offload less"),
            pointer="/hardware/ram_gib",
        )


@rule("FTC423", "disk-too-small", "error", reads=("hardware", "plan"))
def disk_too_small(case: Case) -> Iterator[Problem]:
    """What it is: Checkpoints, the merged model and the GGUF files need more disk than is free.

    Why it matters: A run that fills its disk loses the checkpoint that it was writing.

    Example: {"method": "full", "hardware": {"gpu": "A100-80GB", "disk_gib": 20}}

    Use instead: {"method": "full", "hardware": {"gpu": "A100-80GB", "disk_gib": 500}}
    """
    free, need = case.hardware.disk_free_bytes, case.plan.disk_bytes
    if free is not None and need > free:
        yield Problem(
            message=f"the run needs {gib(need)} of disk and {gib(free)} are free",
            help="keep fewer checkpoints (`training.keep_checkpoints`), export fewer types, or "
            "free space",
            pointer="/hardware/disk_gib",
        )


@rule("FTC424", "unknown-capacity", "warning", reads=("hardware", "plan"))
def unknown_capacity(case: Case) -> Iterator[Problem]:
    """What it is: It is not known how much memory the machine has.

    Why it matters: Nothing can be said about whether the run fits, and the micro-batch is a guess.

    Example: {"hardware": "cpu"}

    Use instead: {"hardware": {"gpu": "cpu", "ram_gib": 32}}
    """
    if case.plan.memory.capacity_bytes is None:
        yield Problem(
            message=f"the run needs {gib(case.plan.memory.device_bytes)} per process, and the "
            "machine's memory is not known",
            help="set `hardware.ram_gib`"
            if case.hardware.kind == "cpu"
            else "name a GPU of the table",
            pointer="/hardware",
        )


@rule("FTC430", "indivisible-batch", "error", reads=("hardware", "plan"), fix_safety="unsafe")
def indivisible_batch(case: Case) -> Iterator[Problem]:
    """What it is: The global batch is no multiple of processes times micro-batch.

    Why it matters: No accumulation gives exactly that batch: the run would train on another one.

    Example: {"hardware": "2x A100-80GB", "training": {"global_batch": 30, "micro_batch": 4}}

    Use instead: {"hardware": "2x A100-80GB", "training": {"global_batch": 32, "micro_batch": 4}}
    """
    asked, micro = case.spec.training.global_batch, case.spec.training.micro_batch
    decided = case.plan.decisions.global_batch.value
    if asked == "auto" or asked == decided or samples(case.spec):  # noqa: PLR1714 - mypy narrows
        return
    world = case.plan.decisions.world.value
    unit = world * (1 if micro == "auto" else micro)
    below, above = asked // unit * unit, -(-asked // unit) * unit
    near = " or ".join(f"{n:,}" for n in (below, above) if n)
    parts = f"{world} processes" + ("" if micro == "auto" else f" of {micro} rows")
    yield Problem(
        message=f"a global batch of {asked:,} cannot be divided among {parts}",
        help=f"use {near} for `training.global_batch`",
        pointer="/training/global_batch",
        fix=(put("/training/global_batch", case.plan.decisions.global_batch.value),),
    )


@rule("FTC431", "nothing-to-share", "warning", reads=("hardware", "plan"))
def nothing_to_share(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for a distribution strategy, and there is one process.

    Why it matters: DDP is then nothing, and ZeRO divides states by one: it costs buffers and time
    and saves no memory.

    Example: {"hardware": "1x A100-80GB", "distribution": "zero3"}

    Use instead: {"hardware": "1x A100-80GB"}
    """
    strategy, offload = case.spec.distribution.strategy, case.spec.distribution.offload
    # FSDP of one process is an error by itself (FTC432)
    shares = strategy not in ("auto", "fsdp") and offload in ("auto", "none")
    if shares and case.plan.decisions.world.value == 1:
        yield Problem(
            message=f"`{strategy}` has one process and nothing to share",
            help="leave `distribution` out, or use more GPUs",
            pointer="/distribution/strategy",
            fix=(put("/distribution/strategy", "auto"),),
        )
