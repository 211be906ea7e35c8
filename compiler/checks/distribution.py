"""The rules about what processes share and what waits elsewhere (FTC425 to FTC428, FTC448, 449)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.memory import gib
from ftc.compiler.checks.rule import Problem, put, rule

_ZERO = ("zero1", "zero2", "zero3")


@rule("FTC425", "offload-without-zero", "error")
def offload_without_zero(case: Case) -> Iterator[Problem]:
    """What it is: Something is to wait in the host's memory, and the strategy is `ddp`.

    Why it matters: Offload is a part of DeepSpeed's ZeRO: copies of a model keep everything on
    their GPU, and the field would be accepted and then ignored.

    Example: {"distribution": {"strategy": "ddp", "offload": "optimizer"}}

    Use instead: {"distribution": {"strategy": "zero2", "offload": "optimizer"}}
    """
    written = case.spec.distribution
    if written.strategy == "ddp" and written.offload in ("optimizer", "parameters"):
        instead = "zero3" if written.offload == "parameters" else "zero2"
        yield Problem(
            message=f"`{written.offload}` cannot be offloaded under `ddp`: its copies are whole",
            help=f"set `distribution.strategy` to `{instead}`, or leave `offload` out",
            pointer="/distribution/offload",
            fix=(put("/distribution/strategy", instead),),
        )


@rule("FTC426", "parameters-offloaded-without-zero3", "error")
def parameters_offloaded_without_zero3(case: Case) -> Iterator[Problem]:
    """What it is: The weights are to wait in the host's memory under ZeRO-1 or ZeRO-2.

    Why it matters: Only ZeRO-3 fetches weights layer by layer; under the others each process holds
    all of them, and DeepSpeed ignores the setting.

    Example: {"distribution": {"strategy": "zero2", "offload": "parameters"}}

    Use instead: {"distribution": {"strategy": "zero3", "offload": "parameters"}}
    """
    written = case.spec.distribution
    if written.strategy in ("zero1", "zero2") and written.offload == "parameters":
        yield Problem(
            message=f"`{written.strategy}` holds all weights on every GPU and offloads none",
            help="set `distribution.strategy` to `zero3`, or offload the `optimizer` alone",
            pointer="/distribution/offload",
            fix=(put("/distribution/strategy", "zero3"),),
        )


@rule("FTC427", "qlora-under-zero3", "error", reads=("plan",))
def qlora_under_zero3(case: Case) -> Iterator[Problem]:
    """What it is: A base in 4 bits is to be divided by ZeRO-3.

    Why it matters: transformers leaves ZeRO-3's divided loading out for quantized models, so each
    process loads the whole base before it is divided, and the scales of its weights stay whole: the
    peak is that of ZeRO-2, and every layer is sent around as well.

    Example: {"method": "qlora", "hardware": "2x RTX-4090", "distribution": "zero3"}

    Use instead: {"method": "qlora", "hardware": "2x RTX-4090", "distribution": "zero2"}
    """
    if case.spec.method.type == "qlora" and case.plan.decisions.sharding.value == "zero3":
        offloaded = case.spec.distribution.offload == "parameters"
        fix = [put("/distribution/strategy", "auto")]
        yield Problem(
            message="ZeRO-3 divides a base in 4 bits only after each process has loaded all of it",
            help="leave the distribution to the planner, or use `lora`, which ZeRO-3 divides",
            pointer="/distribution/offload" if offloaded else "/distribution/strategy",
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
    """What it is: Something is to wait in the host's memory, and the host is what trains.

    Why it matters: It is there already: DeepSpeed goes through the motions and saves nothing.

    Example: {"hardware": "2x cpu", "distribution": {"strategy": "zero2", "offload": "optimizer"}}

    Use instead: {"hardware": "2x cpu", "distribution": "zero2"}
    """
    written = case.spec.distribution
    if case.hardware.kind == "cpu" and written.offload in ("optimizer", "parameters"):
        yield Problem(
            message="a CPU has no other memory to offload from",
            help="leave `offload` out",
            pointer="/distribution/offload",
            fix=(put("/distribution/offload", "none"),),
        )


@rule("FTC448", "disk-that-is-not-used", "error", fix_safety="unsafe")
def disk_that_is_not_used(case: Case) -> Iterator[Problem]:
    """What it is: A folder for what is offloaded is named, and nothing would go there.

    Why it matters: Files of a disk are a part of ZeRO-3 (ZeRO-Infinity). DeepSpeed refuses them
    under ZeRO-1 and ZeRO-2, FSDP and copies of a model have no such thing, and with `offload` as
    `none` there is nothing to put there.

    Example: {"distribution": {"strategy": "zero2", "offload": "optimizer",
     "nvme_path": "/local_nvme"}}

    Use instead: {"distribution": {"strategy": "zero3", "offload": "optimizer",
     "nvme_path": "/local_nvme"}}
    """
    written = case.spec.distribution
    if written.nvme_path is None:
        return
    if written.strategy not in ("auto", "zero3"):
        yield Problem(
            message=f"`{written.strategy}` offloads nothing to a disk: ZeRO-3 alone does",
            help="set `distribution.strategy` to `zero3`, or leave `nvme_path` out",
            pointer="/distribution/nvme_path",
            fix=(put("/distribution/strategy", "zero3"),),
        )
    elif written.offload == "none":
        yield Problem(
            message="nothing is offloaded, and `nvme_path` says where to",
            help="set `distribution.offload` to `optimizer` or `parameters`, or leave `nvme_path` "
            "out",
            pointer="/distribution/nvme_path",
            fix=(put("/distribution/nvme_path", None),),
        )


@rule("FTC449", "disk-too-small-for-states", "warning", reads=("hardware", "plan"))
def disk_too_small_for_states(case: Case) -> Iterator[Problem]:
    """What it is: What is offloaded to a disk needs more room than `hardware.disk_gib` says.

    Why it matters: `swap.py` looks at the folder itself and stops before the model is loaded. That
    is on the machine that is paid for. Where the folder is on a larger disk than the run's, allow
    this code.

    Example: {"method": "full", "hardware": {"gpu": "A100-80GB", "count": 2, "disk_gib": 100},
     "distribution": {"offload": "optimizer", "nvme_path": "/local_nvme"}}

    Use instead: {"method": "full", "hardware": {"gpu": "A100-80GB", "count": 2, "disk_gib": 2000},
     "distribution": {"offload": "optimizer", "nvme_path": "/local_nvme"}}
    """
    free, kept = case.hardware.disk_free_bytes, case.plan.decisions.nvme_bytes
    if kept is not None and free is not None and kept.value > free:
        yield Problem(
            message=f"what is offloaded to the disk needs {gib(kept.value)} and {gib(free)} are "
            "free",
            help="use a larger disk, more nodes, or a LoRA, which has fewer states; allow this "
            "code if `nvme_path` is on another disk",
            pointer="/hardware/disk_gib",
        )
