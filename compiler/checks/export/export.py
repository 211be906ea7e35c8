"""The rules about exporting to GGUF (FTC620): models that llama.cpp cannot convert."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.architecture import is_convertible


@rule("FTC620", "unconvertible-architecture", "error", reads=("model",), fix_safety="unsafe")
def unconvertible_architecture(case: Case) -> Iterator[Problem]:
    """What it is: The pinned llama.cpp has no converter for this architecture.

    Why it matters: The training would succeed, and its model could not be exported as requested.

    Example: {"model": "org/brand-new-architecture", "export": ["Q4_K_M"]}

    Use instead: {"model": "org/brand-new-architecture", "export": []}
    """
    if case.spec.export.types and not is_convertible(case.model.converted):
        yield problem(
            "/export/types", fix=(put("/export/types", []),), architecture=case.model.architecture
        )
