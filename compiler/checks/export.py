"""The rules about exporting to GGUF (FTC620): what llama.cpp will not take."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.architecture import is_convertible


@rule("FTC620", "unconvertible-architecture", "error", reads=("model",), fix_safety="unsafe")
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
