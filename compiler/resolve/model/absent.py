"""Tensors that a class needs and the weights do not have, by their names."""

from collections.abc import Collection
from typing import Final

from ftc.compiler.knowledge.causal_types import has_renamed_tensors
from ftc.compiler.knowledge.module_names import find_module_names
from ftc.compiler.knowledge.objectives import Head
from ftc.compiler.resolve.facts import AbsentTensor
from ftc.compiler.resolve.model.config import Config

_WEIGHT: Final = ".weight"


def find_absent(config: Config, names: Collection[str], head: Head) -> AbsentTensor | None:
    """Return the first tensor that the weights lack: one of the layers, or the output head.

    transformers reads the layers under the name that they have in the class, with or without that
    of the model around them (`model.layers`, `layers`). It knows other names for some types only,
    and those are not compared. None too where no names are known, where the table does not describe
    the model, and where the weights are packed.
    """
    shape, known = config.shape, find_module_names(config.architecture)
    if shape is None or known is None or config.wrapper is not None or config.custom_code:
        return None
    if not names or config.quantized is not None or has_renamed_tensors(config.model_type):
        return None
    spelled = (f"{known.layers}.", f"{known.layers.partition('.')[2] or known.layers}.")
    if not any(name.startswith(spelled) for name in names):
        kind = next(iter(known.linears))
        return AbsentTensor(tensor=known.linear(kind, 0) + _WEIGHT, held=min(names))
    if head == "tokens" and not shape.tied and known.head + _WEIGHT not in names:
        return AbsentTensor(tensor=known.head + _WEIGHT, held="")
    return None
