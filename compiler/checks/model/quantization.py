"""The rules about a base in 4 bits (FTC331 and FTC332)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case

_MOST: Final = 0.5


@rule("FTC331", "experts-in-16-bits", "warning", reads=("model",))
def experts_in_16_bits(case: Case) -> Iterator[Problem]:
    """What it is: QLoRA is requested for a mixture of experts, whose experts stay in 16 bits.

    Why it matters: bitsandbytes quantizes linear modules. transformers keeps all experts of a layer
    in one tensor, which is not a module. Most of the model is then as large as under LoRA.

    Example: {"model": "mistralai/Mixtral-8x7B-v0.1", "method": "qlora"}

    Use instead: {"model": "mistralai/Mistral-7B-v0.1", "method": "qlora"}
    """
    shape = case.model.fused_experts
    if case.spec.method.type != "qlora" or shape is None:
        return
    share = shape.expert_parameters / max(1, shape.parameters)
    if share > _MOST:
        yield problem("/method/type", share=share)
