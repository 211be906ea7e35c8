"""The rules about memory, disk and sharding (FTC420 to FTC439)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.plan.objective.sampling import samples
from ftc.spec.message import Message

_TIGHT_SHARE = 0.92
_SHOWN_GPUS = 3


@rule("FTC420", "does-not-fit", "error", reads=("data", "hardware", "plan"))
def does_not_fit(case: Case) -> Iterator[Problem]:
    """What it is: A process needs more memory than its device has, or offloading than the host has.

    Why it matters: The run would stop with "out of memory", often only after minutes or at the
    first evaluation.

    Example: {"model": "Qwen/Qwen2.5-7B", "method": "full", "hardware": "1x RTX-4090"}

    Use instead: {"model": "Qwen/Qwen2.5-7B", "method": "lora", "hardware": "1x RTX-4090"}
    """
    memory = case.plan.memory
    if memory.fits is not False or memory.capacity_bytes is None:
        return
    offers = tuple(
        Message("phrase.offer", {"change": offer.words, "needed": offer.device_bytes})
        for offer in case.plan.alternatives
    )
    short = _short_memory(case)
    of_host, of_cpu = short == "host", short == "cpu"
    larger = case.plan.fitting_gpus[:_SHOWN_GPUS]
    if larger and not of_host:
        count = case.hardware.count
        offers = (*offers, Message("phrase.larger_gpus", {"count": count, "gpus": larger}))
    if case.plan.context_gpus and not of_host:
        offers = (*offers, Message("phrase.context_parallel", {"gpus": case.plan.context_gpus}))
    # a purchase is never a fix that a command makes by itself, nor a cut by estimated lengths
    refused = {"hardware", *(["data"] if case.data.lengths.estimate else [])}
    change = next((a for a in case.plan.alternatives if a.kind not in refused), None)
    fix = change.fix if change is not None else ()
    same = change is not None and change.kind == "layout"
    paths = {str(step["path"]) for step in fix}
    unnamed = of_cpu and case.hardware.origin == "machine" and "/hardware/gpu" not in case.spec.said
    same = same and "/training/precision" not in paths
    # hundreds of gigabytes may be needed, and nobody has said what the host has
    same = same and not (case.hardware.host_ram_bytes is None and "/distribution/offload" in paths)
    yield problem(
        "/hardware/ram_gib" if of_host else "/hardware/gpu",
        message="unnamed" if unnamed else short,
        help="unnamed"
        if unnamed
        else ""
        if offers
        else "host"
        if of_host
        else "cpu"
        if of_cpu
        else "nothing_fits",
        fix=fix,
        fix_safety="safe" if same else "unsafe",
        needed=case.plan.host_ram_bytes if of_host else memory.device_bytes,
        phase=Message(f"phase.{memory.largest_phase}"),
        hardware=case.hardware.name,
        capacity=(case.hardware.host_ram_bytes or 0) if of_host else memory.capacity_bytes,
        offers=offers,
        count=case.hardware.count,
    )


def _short_memory(case: Case) -> str:
    """Return which memory is short and why: a variant of the message of FTC420."""
    memory, hardware = case.plan.memory, case.hardware
    if hardware.kind == "cpu":
        return "cpu"
    if memory.capacity_bytes is not None and memory.device_bytes <= memory.capacity_bytes:
        return "host"  # the planner offloads only where the host's memory is known
    # accelerate 1.15 (`fsdp2_prepare_model`) loads on one process alone unless weights have 4 bits
    divided = (
        case.plan.decisions.distribution.sharding.value == "fsdp"
        and case.spec.method.type == "qlora"
    )
    return "whole_base" if divided and memory.largest_phase == "load" else ""


@rule("FTC421", "tight-fit", "warning", reads=("plan",))
def tight_fit(case: Case) -> Iterator[Problem]:
    """What it is: The peak is above 92% of the device, with the spec's micro-batch or the least.

    Why it matters: A desktop, another process or a fragmented allocator can take the rest. When
    memory runs out, the bundle restarts with a smaller micro-batch. Where ftc chose one that can
    still shrink, the plan gives the reason and nothing is reported.

    Example: {"hardware": "1x A100-80GB", "training": {"micro_batch": 64}}

    Use instead: {"hardware": "1x A100-80GB", "training": {"micro_batch": 32}}
    """
    memory, decided = case.plan.memory, case.plan.decisions
    said = decided.batch.micro_batch.source == "spec"
    needed = memory.device_bytes
    if (
        memory.fits
        and memory.capacity_bytes is not None
        and needed > _TIGHT_SHARE * memory.capacity_bytes
        and (said or len(case.plan.ladder) == 1)
    ):
        yield problem(
            "/training/micro_batch" if said else "/hardware/gpu",
            message="" if said else "planned",
            help="" if said else "planned",
            needed=needed,
            capacity=memory.capacity_bytes,
        )


@rule("FTC422", "host-memory-too-small", "error", reads=("hardware", "plan"))
def host_memory_too_small(case: Case) -> Iterator[Problem]:
    """What it is: Loading, merging or offloading needs more host memory than there is.

    Why it matters: The merge runs on the CPU with the whole model in 16 bits. The system would kill
    it after the training, which has been paid for by then. Offloaded states need the memory during
    the whole training.

    Example: {"model": "Qwen/Qwen2.5-72B", "hardware": {"gpu": "H100", "count": 8, "ram_gib": 64}}

    Use instead: {"model": "Qwen/Qwen2.5-72B", "hardware": {"gpu": "H100", "count": 8}}
    """
    ram, need = case.hardware.host_ram_bytes, case.plan.host_ram_bytes
    offload = case.plan.decisions.distribution.offload.value
    if (
        ram is not None
        and need > ram
        and not _is_host_of_420(case)
        and not (case.hardware.kind == "cpu" and case.plan.memory.fits is False)
    ):
        yield problem(
            "/hardware/ram_gib",
            help="" if offload == "none" else "offload",
            needed=need,
            capacity=ram,
        )


def _is_host_of_420(case: Case) -> bool:
    """Whether FTC420 says already that offloading needs more than the host has."""
    return case.plan.memory.fits is False and _short_memory(case) == "host"


@rule("FTC423", "disk-too-small", "error", reads=("hardware", "plan"))
def disk_too_small(case: Case) -> Iterator[Problem]:
    """What it is: Downloads, checkpoints, the merged model and exports need more disk than is free.

    Why it matters: A run that fills its disk loses the checkpoint that it was writing.

    Example: {"method": "full", "hardware": {"gpu": "A100-80GB", "disk_gib": 20}}

    Use instead: {"method": "full", "hardware": {"gpu": "A100-80GB", "disk_gib": 500}}
    """
    free, need = case.hardware.disk_free_bytes, case.plan.disk_bytes
    if free is not None and need > free:
        download = case.plan.download_bytes
        yield problem(
            "/hardware/disk_gib",
            message="download" if download else "",
            needed=need,
            free=free,
            download=download,
        )


@rule("FTC424", "unknown-capacity", "warning", reads=("hardware", "plan"))
def unknown_capacity(case: Case) -> Iterator[Problem]:
    """What it is: The machine's memory size is not known.

    Why it matters: It is not possible to say whether the run fits, and the micro-batch is a guess.

    Example: {"hardware": "cpu"}

    Use instead: {"hardware": {"gpu": "cpu", "ram_gib": 32}}
    """
    if case.plan.memory.capacity_bytes is None:
        yield problem(
            "/hardware",
            help="cpu" if case.hardware.kind == "cpu" else "gpu",
            needed=case.plan.memory.device_bytes,
        )


@rule("FTC430", "indivisible-batch", "error", reads=("hardware", "plan"), fix_safety="unsafe")
def indivisible_batch(case: Case) -> Iterator[Problem]:
    """What it is: The global batch is not a multiple of processes times micro-batch.

    Why it matters: No number of accumulation steps gives exactly that batch, so the run would train
    with another one.

    Example: {"hardware": "2x A100-80GB", "training": {"global_batch": 30, "micro_batch": 4}}

    Use instead: {"hardware": "2x A100-80GB", "training": {"global_batch": 32, "micro_batch": 4}}
    """
    asked, micro = case.spec.training.global_batch, case.spec.training.micro_batch
    decided = case.plan.decisions.batch.global_batch.value
    if asked == "auto" or asked == decided or samples(case.spec.objective):  # noqa: PLR1714 - mypy narrows
        return
    world = case.plan.decisions.distribution.world.value
    unit = world * (1 if micro == "auto" else micro)
    below, above = asked // unit * unit, -(-asked // unit) * unit
    yield problem(
        "/training/global_batch",
        fix=(put("/training/global_batch", case.plan.decisions.batch.global_batch.value),),
        message="" if micro == "auto" else "micro",
        help="" if below else "above",
        batch=asked,
        world=world,
        rows=micro,
        below=below,
        above=above,
    )


@rule("FTC431", "nothing-to-share", "warning", reads=("hardware", "plan"))
def nothing_to_share(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for a distribution strategy, and there is only one process.

    Why it matters: DDP then has no effect, and ZeRO divides states by one: it costs buffers and
    time and saves no memory.

    Example: {"hardware": "1x A100-80GB", "distribution": "zero3"}

    Use instead: {"hardware": "1x A100-80GB"}
    """
    strategy, offload = case.spec.distribution.strategy, case.spec.distribution.offload
    # FSDP of one process is an error by itself (FTC432)
    shares = strategy not in ("auto", "fsdp") and offload in ("auto", "none")
    if shares and case.plan.decisions.distribution.world.value == 1:
        yield problem(
            "/distribution/strategy",
            fix=(put("/distribution/strategy", "auto"),),
            strategy=strategy,
        )
