"""How positions are stretched (`rope_parameters`): the types that transformers knows."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ftc.compiler.knowledge.tables import read_table

__all__ = ["list_rope_types", "reads_rope", "rope_type"]

_Types = Mapping[str, Sequence[str]]


def list_rope_types(model_type: str) -> _Types | None:
    """Return the types that a class can load, each with the keys that it needs beside its name.

    None for a class whose types are not known: those of its code may be any.
    """
    table = _table()
    if reads_rope(model_type):
        types: _Types = table["types"]
        return types
    own: _Types | None = table["own"].get(model_type)
    return own


def rope_type(model_type: str, said: Mapping[str, Any]) -> object:
    """Return the type that parameters name; some classes ignore the older name of the key."""
    ignored = model_type in _table()["ignore_type"]
    return said.get("rope_type", "default" if ignored else said.get("type", "default"))


def reads_rope(model_type: str) -> bool:
    """Tell whether a class checks and reads the parameters by the common code alone."""
    return model_type in _table()["models"]


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_table(__name__, "rope_types.json")
    return table
