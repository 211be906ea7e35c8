"""The rules about a base in 4 bits (FTC330 to FTC332)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule

#: bitsandbytes 0.50's own table: compute capability 6.0 (Pascal) at least.
_LEAST_CAPABILITY: Final = 6.0
_MOST: Final = 0.5


@rule("FTC330", "qlora-without-kernels", "error", reads=("hardware",), fix_safety="unsafe")
def qlora_without_kernels(case: Case) -> Iterator[Problem]:
    """What it is: QLoRA is asked of a GPU that bitsandbytes has no kernels for.

    Why it matters: Its wheels start at compute capability 6.0 (Pascal, 2016); on an older GPU the
    first product with a 4-bit matrix stops with a CUDA error.

    Example: {"method": "qlora", "hardware": "auto"}

    Use instead: {"method": "lora", "hardware": "auto"}
    """
    capability = case.hardware.compute_capability
    if (
        case.spec.method.type == "qlora"
        and capability is not None
        and capability < _LEAST_CAPABILITY
    ):
        yield Problem(
            message=f"{case.hardware.name} (compute capability {capability:g}) lacks 4-bit kernels",
            help="use `lora` and a smaller model, or a newer GPU",
            pointer="/method/type",
            fix=(put("/method/type", "lora"),),
        )


@rule("FTC331", "experts-in-16-bits", "warning", reads=("model",))
def experts_in_16_bits(case: Case) -> Iterator[Problem]:
    """What it is: QLoRA is asked of a mixture of experts, whose experts stay in 16 bits.

    Why it matters: bitsandbytes quantizes linear modules; transformers keeps all experts of a layer
    in one tensor, which is none. Most of the model is then as large as under LoRA.

    Example: {"model": "mistralai/Mixtral-8x7B-v0.1", "method": "qlora"}

    Use instead: {"model": "mistralai/Mistral-7B-v0.1", "method": "qlora"}
    """
    shape = case.model.shape
    if case.spec.method.type != "qlora" or shape is None or not shape.experts:
        return
    share = shape.expert_parameters / max(1, shape.parameters)
    if share > _MOST:
        yield Problem(
            message=f"{share:.0%} of the weights are experts, which QLoRA leaves in 16 bits",
            help="use a model without experts, or `lora`, which costs little more here",
            pointer="/method/type",
        )
