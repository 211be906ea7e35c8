"""The rules about exporting to GGUF (FTC620 and FTC621): what llama.cpp will not take."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.architecture import is_convertible

_SUPER_BLOCK = 256  # weights in a block of a K-quant: QK_K of llama.cpp's ggml-common.h


@rule("FTC620", "unconvertible-architecture", "error", reads=("model",))
def unconvertible_architecture(case: Case) -> Iterator[Problem]:
    """What it is: The pinned llama.cpp has no converter for this architecture.

    Why it matters: Training would end in a model that cannot be exported as asked.

    Example: {"model": "org/brand-new-architecture", "export": ["Q4_K_M"]}

    Use instead: {"model": "org/brand-new-architecture", "export": []}
    """
    if case.spec.export.types and not is_convertible(case.model.architecture):
        yield Problem(
            message=f"llama.cpp cannot convert `{case.model.architecture}` to GGUF",
            help="export nothing (the merged 16-bit folder remains), or choose another model",
            pointer="/export/types",
            fix=(put("/export/types", []),),
        )


@rule("FTC621", "narrow-rows-for-k-quant", "warning", reads=("model",))
def narrow_rows_for_k_quant(case: Case) -> Iterator[Problem]:
    """What it is: A K-quant is asked for, and rows of weights are no multiple of 256 wide.

    Why it matters: llama.cpp falls back to another type for those tensors, so that the file is
    larger than its name says.

    Example: {"model": "HuggingFaceTB/SmolLM2-135M", "export": ["Q4_K_M"]}

    Use instead: {"model": "HuggingFaceTB/SmolLM2-135M", "export": ["Q8_0"]}
    """
    wanted = [kind for kind in case.spec.export.types if "_K" in kind]
    shape = case.model.shape
    if not wanted or shape is None:
        return
    linears = shape.linear_shapes.values()
    narrow = sum(
        linear.count * linear.in_features * linear.out_features
        for linear in linears
        if linear.in_features % _SUPER_BLOCK
    )
    if narrow:
        share = narrow / shape.linear_parameters
        yield Problem(
            message=f"{share:.0%} of the linear weights have rows that 256 does not divide: "
            f"{', '.join(wanted)} will fall back to other types there",
            help="use Q8_0, or allow FTC621 and expect a larger file",
            pointer="/export/types",
        )
