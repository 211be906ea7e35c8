"""The rules about requested kernels that are not available (FTC535 and FTC536)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.training.liger import has_liger_kernels


@rule("FTC535", "liger-without-gpu", "error", reads=("hardware",))
def liger_without_gpu(case: Case) -> Iterator[Problem]:
    """What it is: Liger's kernels are requested, and the training runs on a CPU.

    Why it matters: They are written in Triton, which compiles only for GPUs. The first step would
    stop with an error of Triton's driver.

    Example: {"hardware": "cpu", "training": {"liger": true}}

    Use instead: {"hardware": "1x A100-80GB", "training": {"liger": true}}
    """
    if case.spec.training.liger is True and case.hardware.kind == "cpu":
        yield problem("/training/liger", fix=(put("/training/liger", False),))


@rule("FTC536", "liger-without-kernels", "error", reads=("model",))
def liger_without_kernels(case: Case) -> Iterator[Problem]:
    """What it is: Liger's kernels are requested for a model type that has none.

    Why it matters: The pinned liger-kernel selects its kernels by model type and silently skips a
    type that it does not know. The field would be accepted and then ignored.

    Example: {"model": "EleutherAI/pythia-1b", "training": {"liger": true}}

    Use instead: {"model": "Qwen/Qwen3-1.7B", "training": {"liger": true}}
    """
    model_type = case.model.model_type
    if case.spec.training.liger is True and not has_liger_kernels(model_type):
        yield problem("/training/liger", fix=(put("/training/liger", False),), kind=model_type)
