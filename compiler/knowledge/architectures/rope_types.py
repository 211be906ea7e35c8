"""The types of RoPE scaling (`rope_parameters`) in transformers."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ftc.compiler.knowledge.tables import read_table

__all__ = ["list_rope_types", "reads_rope", "rope_type"]

_Types = Mapping[str, Sequence[str]]


def list_rope_types(model_type: str) -> _Types | None:
    """Return the types that a class can load, each with its required keys other than the name.

    The result is None for a class with custom code, whose types are unknown.
    """
    table = _table()
    if reads_rope(model_type):
        types: _Types = table["types"]
        return types
    own: _Types | None = table["own"].get(model_type)
    return own


def rope_type(model_type: str, said: Mapping[str, Any]) -> object:
    """Return the type in the parameters; some classes ignore the older name of the key."""
    ignored = model_type in _table()["ignore_type"]
    return said.get("rope_type", "default" if ignored else said.get("type", "default"))


def reads_rope(model_type: str) -> bool:
    """Return whether a class reads and validates the parameters only with the common code."""
    return model_type in _table()["models"]


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_table(__name__, "rope_types.json")
    return table
