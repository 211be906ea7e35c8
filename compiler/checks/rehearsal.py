"""The rules about what rehearsals have shown of a family (FTC690 to FTC699)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.architecture import is_convertible
from ftc.compiler.knowledge.rehearsed import find_rehearsed


@rule("FTC690", "family-stopped-in-rehearsal", "warning", reads=("model",), fix_safety="unsafe")
def family_stopped_in_rehearsal(case: Case) -> Iterator[Problem]:
    """What it is: A miniature of this architecture did not come the whole way to a GGUF.

    Why it matters: The scripts and the pinned libraries are the same in the real run, which would
    train and then stop at the same stage.

    Example: {"model": "org/a-family-that-stops", "export": ["Q4_K_M"]}

    Use instead: {"model": "org/a-family-that-stops", "export": []}
    """
    known = find_rehearsed(case.model.architecture)
    if case.spec.export.types and known is not None and known.stage is not None:
        yield Problem(
            message=f"rehearsals of `{case.model.architecture}` stop at {known.stage}:"
            f" {known.reason}",
            help="export nothing (the merged 16-bit folder remains), or rehearse this very model:"
            " `ftc rehearse SPEC` takes minutes and no GPU",
            pointer="/export/types",
            fix=(put("/export/types", []),),
        )


@rule("FTC691", "family-never-rehearsed", "info", reads=("model",))
def family_never_rehearsed(case: Case) -> Iterator[Problem]:
    """What it is: llama.cpp has a converter for this architecture, and nobody has rehearsed it.

    Why it matters: That a converter exists does not say that the GGUF computes what the model
    computes; only a run to the end shows it.

    Example: {"model": "org/a-rare-architecture", "export": ["Q4_K_M"]}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct", "export": ["Q4_K_M"]}
    """
    name = case.model.architecture
    if case.spec.export.types and is_convertible(name) and find_rehearsed(name) is None:
        yield Problem(
            message=f"no rehearsal of `{name}` is on record",
            help="run `ftc rehearse SPEC` before a GPU is rented: it takes minutes on a CPU",
            pointer="/export/types",
        )
