"""Encoders: models that read a text in both directions, and give a vector for each token.

The table has the formula of each class as `architectures.json` has it, without an output head:
only the vectors are used. `also` are classes of the same weights with a head, which is left out,
and `first_position` the number of the first token's position.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ftc.compiler.knowledge.architecture import make_shape
from ftc.compiler.knowledge.shape import Shape

_PATH: Final = files("ftc.compiler.knowledge") / "encoders.json"


def read_encoder(config: Mapping[str, object]) -> Shape | None:
    """Apply the table's formula to a `config.json`; None if no entry describes this model."""
    name = _name(config)
    if name is None:
        return None
    entry = _table()[name]
    shape = make_shape(name, entry, config)
    return shape and replace(shape, context_tokens=shape.context_tokens - entry["first_position"])


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


def _name(config: Mapping[str, object]) -> str | None:
    names = config.get("architectures")
    if isinstance(names, list) and names:
        return next((k for k, e in _table().items() if names[0] in (k, *e["also"])), None)
    model_type = config.get("model_type")
    return next((k for k, e in _table().items() if e["model_type"] == model_type), None)


@cache
def _table() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(_PATH.read_text(encoding="utf-8"))
    return found
