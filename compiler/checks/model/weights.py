"""The rules about files of weights: tied heads (FTC118) and pickled files (FTC164 to FTC166)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case

_POINTER = "/model/pickled_weights"


@rule("FTC164", "pickled-weights", "error", reads=("model",))
def pickled_weights(case: Case) -> Iterator[Problem]:
    """What it is: The model has only pickled weights, and the spec does not allow loading them.

    Why it matters: A pickle is a program that runs while it is read. The scripts of a bundle read
    safetensors, which hold only numbers, so loading this model would stop.

    Example: {"model": "./folder-with-pytorch_model.bin"}

    Use instead: {"model": "./folder-with-model.safetensors"}
    """
    if case.model.pickled and not case.spec.model.pickled_weights:
        yield problem("/model/id", name=case.model.id)


@rule("FTC165", "loads-pickles", "warning", reads=("model",))
def loads_pickles(case: Case) -> Iterator[Problem]:
    """What it is: The spec allows pickled weights, and this model has no others.

    Why it matters: transformers opens them with torch's weights-only reader, which blocks most
    programs, but faults in that reader have let some through. The content depends on whoever wrote
    the model.

    Example: {"model": {"id": "./folder-with-pytorch_model.bin", "pickled_weights": true}}

    Use instead: {"model": "./folder-with-model.safetensors"}
    """
    if case.model.pickled and case.spec.model.pickled_weights:
        yield problem(_POINTER, name=case.model.id)


@rule("FTC166", "needless-pickles", "warning", reads=("model",))
def needless_pickles(case: Case) -> Iterator[Problem]:
    """What it is: The spec allows pickled weights, and the model has safetensors.

    Why it matters: The scripts would load a pickle if the safetensors were ever missing.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B-Instruct", "pickled_weights": true}}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct"}
    """
    if case.model.pickled is False and case.spec.model.pickled_weights:
        yield problem(_POINTER, fix=({"op": "remove", "path": _POINTER},))


@rule("FTC118", "tied-config-of-other-head", "warning", reads=("model",))
def tied_config_of_other_head(case: Case) -> Iterator[Problem]:
    """What it is: `config.json` ties the output head, and the weights have another one.

    Why it matters: transformers sees that the two differ and ties nothing, so that the training and
    the plan have both. Other programs believe `config.json`: vLLM leaves the trained head out and
    answers with the embedding, without an error.

    Example: {"model": "./tied-config-beside-another-head"}

    Use instead: {"model": "./config-with-tie_word_embeddings-false"}
    """
    if case.model.has_other_head:
        yield problem("/model/id", name=case.model.id)
