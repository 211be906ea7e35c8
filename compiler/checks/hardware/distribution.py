"""The rules about sharding and offloading (FTC425 to FTC428, FTC448, FTC449, FTC593)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import has_teacher
from ftc.compiler.plan.objective.sampling import find_engine, learns_from_shards

_ZERO = ("zero1", "zero2", "zero3")
_LESS = (put("/distribution/offload", "optimizer"),)


@rule("FTC425", "offload-without-zero", "error")
def offload_without_zero(case: Case) -> Iterator[Problem]:
    """What it is: Something is to be offloaded to the host's memory, and the strategy is `ddp`.

    Why it matters: Offloading is a part of DeepSpeed's ZeRO. DDP keeps a whole copy on each GPU,
    and the field would be accepted and then ignored.

    Example: {"distribution": {"strategy": "ddp", "offload": "optimizer"}}

    Use instead: {"distribution": {"strategy": "zero2", "offload": "optimizer"}}
    """
    written = case.spec.distribution
    if written.strategy == "ddp" and written.offload in ("optimizer", "parameters"):
        less = written.offload == "parameters" and not learns_from_shards(case.spec, "zero3")
        instead = "zero3" if written.offload == "parameters" and not less else "zero2"
        yield problem(
            "/distribution/offload",
            help="less" if less else "",
            fix=(put("/distribution/strategy", instead), *(_LESS if less else ())),
            fix_safety="unsafe" if less else None,
            what=written.offload,
            strategy=instead,
        )


@rule("FTC426", "parameters-offloaded-without-zero3", "error")
def parameters_offloaded_without_zero3(case: Case) -> Iterator[Problem]:
    """What it is: The weights are to be offloaded to the host's memory under ZeRO-1 or ZeRO-2.

    Why it matters: Only ZeRO-3 fetches weights layer by layer. Under the others each process holds
    all of them, and DeepSpeed ignores the setting.

    Example: {"distribution": {"strategy": "zero2", "offload": "parameters"}}

    Use instead: {"distribution": {"strategy": "zero3", "offload": "parameters"}}
    """
    written = case.spec.distribution
    if written.strategy in ("zero1", "zero2") and written.offload == "parameters":
        less = not learns_from_shards(case.spec, "zero3")
        yield problem(
            "/distribution/offload",
            help="less" if less else "",
            fix=_LESS if less else (put("/distribution/strategy", "zero3"),),
            fix_safety="unsafe" if less else None,
            strategy=written.strategy,
        )


@rule("FTC427", "qlora-under-zero3", "error", reads=("plan",))
def qlora_under_zero3(case: Case) -> Iterator[Problem]:
    """What it is: A 4-bit base is to be divided by ZeRO-3.

    Why it matters: transformers does not support ZeRO-3's divided loading for quantized models.
    Each process loads the whole base before it is divided, and the quantization scales are never
    divided. The peak is that of ZeRO-2, and every layer is also sent over the network.

    Example: {"method": "qlora", "hardware": "2x RTX-4090", "distribution": "zero3"}

    Use instead: {"method": "qlora", "hardware": "2x RTX-4090", "distribution": "zero2"}
    """
    if (
        case.spec.method.type == "qlora"
        and case.plan.decisions.distribution.sharding.value == "zero3"
    ):
        offloaded = case.spec.distribution.offload == "parameters"
        fix = [put("/distribution/strategy", "auto")]
        yield problem(
            "/distribution/offload" if offloaded else "/distribution/strategy",
            fix=(
                *fix,
                *([put("/distribution/offload", "auto")] if offloaded else []),
                *(
                    [put("/distribution/nvme_path", None)]
                    if case.spec.distribution.nvme_path
                    else []
                ),
            ),
        )


@rule("FTC428", "offload-on-a-cpu", "warning", reads=("hardware",))
def offload_on_a_cpu(case: Case) -> Iterator[Problem]:
    """What it is: Something is to be offloaded to the host's memory, and the CPU itself trains.

    Why it matters: Everything is in the host's memory already, so offloading saves nothing.

    Example: {"hardware": "2x cpu", "distribution": {"strategy": "zero2", "offload": "optimizer"}}

    Use instead: {"hardware": "2x cpu", "distribution": "zero2"}
    """
    written = case.spec.distribution
    if case.hardware.kind == "cpu" and written.offload in ("optimizer", "parameters"):
        yield problem("/distribution/offload", fix=(put("/distribution/offload", "none"),))


@rule("FTC448", "disk-that-is-not-used", "error", fix_safety="unsafe")
def disk_that_is_not_used(case: Case) -> Iterator[Problem]:
    """What it is: `nvme_path` names a folder for offloading, and nothing would be written to it.

    Why it matters: Offloading to a disk is a part of ZeRO-3 (ZeRO-Infinity). DeepSpeed does not
    allow it under ZeRO-1 and ZeRO-2, and neither FSDP nor DDP has it. With `offload` set to `none`
    nothing is written either.

    Example: {"distribution": {"strategy": "zero2", "offload": "optimizer",
     "nvme_path": "/local_nvme"}}

    Use instead: {"distribution": {"strategy": "zero3", "offload": "optimizer",
     "nvme_path": "/local_nvme"}}
    """
    written = case.spec.distribution
    if written.nvme_path is None:
        return
    if written.strategy not in ("auto", "zero3"):
        yield problem(
            "/distribution/nvme_path",
            message="strategy",
            help="strategy",
            fix=(put("/distribution/strategy", "zero3"),),
            strategy=written.strategy,
        )
    elif written.offload == "none":
        yield problem(
            "/distribution/nvme_path",
            message="nothing",
            help="nothing",
            fix=(put("/distribution/nvme_path", None),),
        )


@rule("FTC449", "disk-too-small-for-states", "warning", reads=("hardware", "plan"))
def disk_too_small_for_states(case: Case) -> Iterator[Problem]:
    """What it is: Offloading to a disk needs more room than `hardware.disk_gib` gives.

    Why it matters: The training checks the folder and stops before it loads the model, but by then
    the machine is already paid for. Allow this code if the folder is on a larger disk than the run.

    Example: {"method": "full", "hardware": {"gpu": "A100-80GB", "count": 2, "disk_gib": 100},
     "distribution": {"offload": "optimizer", "nvme_path": "/local_nvme"}}

    Use instead: {"method": "full", "hardware": {"gpu": "A100-80GB", "count": 2, "disk_gib": 2000},
     "distribution": {"offload": "optimizer", "nvme_path": "/local_nvme"}}
    """
    free, kept = case.hardware.disk_free_bytes, case.plan.decisions.distribution.nvme_bytes
    if kept is not None and free is not None and kept.value > free:
        yield problem("/hardware/disk_gib", need=kept.value, free=free)


@rule("FTC593", "answers-of-divided-weights", "error", reads=("plan",), fix_safety="unsafe")
def answers_of_divided_weights(case: Case) -> Iterator[Problem]:
    """What it is: The processes divide the weights, and the objective needs whole ones.

    Why it matters: Every token of an answer needs all weights. Under ZeRO-3 the trainer gathers
    them on each GPU to generate answers, and to merge an adapter before vLLM gets the weights: the
    memory that dividing them saved is needed again. Under FSDP a process whose answers are longer
    than those of another waits for weights for ever, and TRL does not support merging in shards.
    Without an adapter vLLM gets one whole weight after the other, under ZeRO-3 and, on a server,
    under FSDP. In the training processes vLLM discards its weights when it sleeps and gets them
    again in an evaluation, where TRL stops at what FSDP2 has gathered for a pass. A teacher is
    planned whole on each GPU: under ZeRO-3 TRL divides it too, and under FSDP it stays on the CPU.

    Example: {"objective": "grpo", "distribution": {"strategy": "zero3"}}

    Use instead: {"objective": "grpo", "distribution": {"strategy": "zero2"}}
    """
    sharding, written = case.plan.decisions.distribution.sharding.value, case.spec.distribution
    if sharding not in ("zero3", "fsdp") or learns_from_shards(case.spec, sharding):
        return
    said = written.strategy in ("zero3", "fsdp")
    offloads, disk = written.offload == "parameters", written.nvme_path is not None
    fix = [put("/distribution/strategy", "zero2")] if said else []
    fix += [put("/distribution/offload", "optimizer")] if offloads else []
    fix += [put("/distribution/nvme_path", None)] if disk else []
    field = "nvme_path" if disk else "offload" if offloads else "strategy"
    merges = case.spec.method.type in ("lora", "qlora")
    by_vllm = "merged" if merges else "woken"
    kind = "" if find_engine(case.spec.objective) == "off" else by_vllm
    yield problem(
        f"/distribution/{field}",
        message="taught" if has_teacher(case.spec.objective.type) else kind,
        help="disk" if disk else "offload" if offloads else "",
        fix=tuple(fix),
        name="FSDP" if sharding == "fsdp" else "ZeRO-3",
    )
