"""Encoders: models that read a text in both directions, and give a vector for each token.

The table has the formula of each class (`equal_layers.py`), without an output head: only the
vectors are used. `also` are classes of the same weights with a head, which is left out,
and `first_position` the number of the first token's position. `scoring` is the class that gives a
score, with the tensors that it has in addition.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from ftc.compiler.knowledge.architectures.architecture import class_of_type, read_shape
from ftc.compiler.knowledge.architectures.equal_layers import count_tensors, make_shape
from ftc.compiler.knowledge.architectures.shape import Shape
from ftc.compiler.knowledge.objectives import Head
from ftc.compiler.knowledge.tables import read_table


def read_headed(config: Mapping[str, object], head: Head) -> Shape | None:
    """Return the shape of what is loaded for an objective's output; None if no table has the class.

    For `vectors` an encoder will do, and a causal model is loaded without its head,
    whether its weights have it or not. `relevance` is the one score of an encoder.
    """
    shape = read_shape(config)
    if shape is None and head == "vectors":
        shape = read_bare(config)
    if shape is None and head in ("vectors", "relevance"):
        return read_encoder(config, scores=head == "relevance")
    return headless(shape) if shape is not None and head == "vectors" else shape


def read_bare(config: Mapping[str, object]) -> Shape | None:
    """Apply the formula of a causal class to the config of a model that was saved without its head.

    It names the class inside: `MistralModel`, `Gemma3TextModel`. The shape is that of the class
    with the head. None for all other models.
    """
    names, own = config.get("architectures"), class_of_type(config.get("model_type"))
    if own is None or not isinstance(names, list) or not names:
        return None
    stem = own.removesuffix("ForCausalLM").removesuffix("LMHeadModel")
    bare = names[0] in (f"{stem}Model", f"{stem}TextModel")
    return read_shape({**config, "architectures": [own]}) if bare else None


def read_encoder(config: Mapping[str, object], *, scores: bool = False) -> Shape | None:
    """Apply the table's formula to a `config.json`; None if no entry describes this model.

    With `scores` the shape is that of the class that gives one score, whether the weights have its
    head or not.
    """
    name = _name(config, scores=scores)
    if name is None:
        return None
    entry = _table()[name]
    shape = make_shape(name, entry, config)
    if shape is None:
        return None
    head = count_tensors(entry, config, entry["scoring"]["tensors"]) if scores else 0
    return replace(
        shape,
        context_tokens=shape.context_tokens - entry["first_position"],
        parameters=shape.parameters + head,
        head_parameters=head,
        tied=shape.tied and not scores,
    )


def scoring_class(architecture: str) -> str:
    """Return the class that gives a score with the layers of an encoder of the table."""
    return str(_table()[architecture]["scoring"]["class"])


def list_encoders() -> list[str]:
    """Return the classes of the table."""
    return list(_table())


def is_encoder(architecture: str) -> bool:
    """Return whether a class of the table reads in both directions."""
    return architecture in _table()


def headless(shape: Shape) -> Shape:
    """Return the shape of a causal model without its output head: `AutoModel` loads none."""
    return replace(
        shape,
        parameters=shape.parameters - shape.head_parameters,
        head_parameters=0,
        tied=True,
    )


def _name(config: Mapping[str, object], *, scores: bool) -> str | None:
    names = config.get("architectures")
    if isinstance(names, list) and names:
        for name, entry in _table().items():
            scoring = [entry["scoring"]["class"]] if scores else []
            if names[0] in (name, *entry["also"], *scoring):
                return name
        return None
    model_type = config.get("model_type")
    return next((k for k, e in _table().items() if e["model_type"] == model_type), None)


@cache
def _table() -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_table(__name__, "encoders.json")
    return found
