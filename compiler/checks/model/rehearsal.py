"""The rules about the rehearsals of a model family (FTC690 to FTC699)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.architecture import is_convertible
from ftc.compiler.knowledge.exports.rehearsed import find_rehearsed
from ftc.compiler.knowledge.objectives import compares_texts


@rule("FTC690", "family-stopped-in-rehearsal", "error", reads=("model",), fix_safety="unsafe")
def family_stopped_in_rehearsal(case: Case) -> Iterator[Problem]:
    """What it is: A small model of this architecture did not complete a rehearsal to a GGUF file.

    Why it matters: The scripts and the pinned libraries are the same in the real run, which would
    train and then stop at the same stage. Without a GGUF file the run ends with a merged model.
    Where the cause is a key of config.json, only a config without it is refused: the merged folder
    has the base's. Miniatures with one other setting were converted too, such as an activation, a
    bias, norms of queries or a scaling of positions: the converter stops at what it does not know,
    or llama.cpp computes something else.

    Example: {"model": "org/a-family-that-stops", "export": ["Q4_K_M"]}

    Use instead: {"model": "org/a-family-that-stops", "export": []}
    """
    model = case.model
    own = (model.wrapper, model.architecture, model.older_name)
    names = [name for name in own if name is not None]
    seen = {name: find_rehearsed(name) for name in names}
    name = next((n for n, known in seen.items() if known and known.stage), names[-1])
    known = seen[name]
    writes = not compares_texts(case.spec.objective.type)
    if model.wrapper is not None and not is_convertible(model.converted):
        return  # FTC620 says so
    if model.wrapper is not None and known is not None and not known.is_trained:
        return  # FTC174 says so
    stops = known is not None and known.stage is not None and not model.is_lifted
    if writes and case.spec.export.types and known is not None and stops:
        yield problem(
            "/export/types",
            fix=(put("/export/types", []),),
            architecture=name,
            stage=known.stage or "",
            reason=known.reason or "",
        )
    elif writes and case.spec.export.types and model.unlike is not None:
        yield problem(
            "/export/types",
            message="unlike" if model.unlike.stage == "compare" else "setting",
            fix=(put("/export/types", []),),
            architecture=model.architecture,
            stage=model.unlike.stage,
            key=model.unlike.key,
            value=model.unlike.value,
        )


@rule("FTC691", "family-never-rehearsed", "info", reads=("model",))
def family_never_rehearsed(case: Case) -> Iterator[Problem]:
    """What it is: llama.cpp has a converter for this architecture, but no rehearsal of it is known.

    Why it matters: A converter does not prove that the GGUF computes the same as the model. Only a
    complete run shows that.

    Example: {"model": "org/a-rare-architecture", "export": ["Q4_K_M"]}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct", "export": ["Q4_K_M"]}
    """
    name = case.model.converted
    writes = not compares_texts(case.spec.objective.type)  # the table is of models that write
    names = {name, case.model.wrapper or name}
    seen = any((known := find_rehearsed(each)) and known.seen is None for each in names)
    if writes and case.spec.export.types and is_convertible(name) and not seen:
        yield problem("/export/types", name=name)
