"""The rules about files of weights (FTC164 to FTC166): numbers alone, or programs."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, rule

_POINTER = "/model/pickled_weights"


@rule("FTC164", "pickled-weights", "error", reads=("model",))
def pickled_weights(case: Case) -> Iterator[Problem]:
    """What it is: The model has pickled weights alone, and the spec does not allow to load them.

    Why it matters: A pickle is a program that runs while it is read. The scripts of a bundle read
    safetensors, which hold numbers alone, so loading this model would stop.

    Example: {"model": "./folder-with-pytorch_model.bin"}

    Use instead: {"model": "./folder-with-model.safetensors"}
    """
    if case.model.pickled and not case.spec.model.pickled_weights:
        yield Problem(
            message=f"the weights of `{case.model.id}` are pickles, and the scripts load "
            "safetensors alone",
            help="write them anew with `save_pretrained` where you trust them, name a model that "
            "has safetensors, or set `model.pickled_weights`",
            pointer="/model/id",
        )


@rule("FTC165", "loads-pickles", "warning", reads=("model",))
def loads_pickles(case: Case) -> Iterator[Problem]:
    """What it is: The spec allows pickled weights, and this model has no others.

    Why it matters: transformers opens them with torch's reader of weights alone, which refuses most
    programs; faults in that reader have let some through. What it reads comes from whoever wrote
    the model.

    Example: {"model": {"id": "./folder-with-pytorch_model.bin", "pickled_weights": true}}

    Use instead: {"model": "./folder-with-model.safetensors"}
    """
    if case.model.pickled and case.spec.model.pickled_weights:
        yield Problem(
            message=f"the weights of `{case.model.id}` are pickles, and will be loaded",
            help="load only what you trust, at a pinned revision; then allow FTC165",
            pointer=_POINTER,
        )


@rule("FTC166", "needless-pickles", "warning", reads=("model",))
def needless_pickles(case: Case) -> Iterator[Problem]:
    """What it is: The spec allows pickled weights, and the model has safetensors.

    Why it matters: The scripts would load a pickle if the safetensors were missing one day.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B-Instruct", "pickled_weights": true}}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct"}
    """
    if case.model.pickled is False and case.spec.model.pickled_weights:
        yield Problem(
            message="the model has safetensors: no pickle needs to be loaded",
            help="remove `pickled_weights`",
            pointer=_POINTER,
            fix=({"op": "remove", "path": _POINTER},),
        )
