"""The rules about kernels that are asked for and not there (FTC535 and FTC536)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.liger import has_liger_kernels


@rule("FTC535", "liger-without-gpu", "error", reads=("hardware",))
def liger_without_gpu(case: Case) -> Iterator[Problem]:
    """What it is: Liger's kernels are asked for, and a CPU trains.

    Why it matters: They are written in Triton, which compiles for GPUs alone: the first step ends
    with an error of Triton's driver.

    Example: {"hardware": "cpu", "training": {"liger": true}}

    Use instead: {"hardware": "1x A100-80GB", "training": {"liger": true}}
    """
    if case.spec.training.liger and case.hardware.kind == "cpu":
        yield Problem(
            message="Liger's kernels run on a GPU, and this run has none",
            help="leave `training.liger` out",
            pointer="/training/liger",
            fix=(put("/training/liger", False),),
        )


@rule("FTC536", "liger-without-kernels", "error", reads=("model",))
def liger_without_kernels(case: Case) -> Iterator[Problem]:
    """What it is: Liger's kernels are asked for, for a model that it has none for.

    Why it matters: The pinned liger-kernel goes by the model's type and leaves one that it does not
    know as it is, in silence: the field would be accepted and then ignored.

    Example: {"model": "EleutherAI/pythia-1b", "training": {"liger": true}}

    Use instead: {"model": "Qwen/Qwen3-1.7B", "training": {"liger": true}}
    """
    model_type = case.model.model_type
    if case.spec.training.liger and not has_liger_kernels(model_type):
        yield Problem(
            message=f"there are no Liger kernels for a model of type `{model_type}`",
            help="leave `training.liger` out",
            pointer="/training/liger",
            fix=(put("/training/liger", False),),
        )
