"""How positions are stretched (`rope_parameters`): the types that transformers knows."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ftc.compiler.knowledge.tables import read_table

__all__ = ["reads_rope", "rope_types"]


def rope_types() -> Mapping[str, Sequence[str]]:
    """Return the keys that each type needs beside its name."""
    types: Mapping[str, Sequence[str]] = _table()["types"]
    return types


def reads_rope(model_type: str) -> bool:
    """Tell whether the config of a type is checked and read as all are that follow the common code.

    Types with rules of their own are not in the table: nothing is said of their configs.
    """
    return model_type in _table()["models"]


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_table(__name__, "rope_types.json")
    return table
