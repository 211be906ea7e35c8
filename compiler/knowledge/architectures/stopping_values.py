"""The values of a `config.json` at which transformers stops, though their type may be right."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from ftc.compiler.knowledge.architectures.config_types import KINDS
from ftc.compiler.knowledge.tables import read_table

__all__ = ["code_of", "stops", "stops_answers"]

_LOCAL: Final = ("sliding", "chunked")  # in the names of layer types


def stops(model_type: str, key: str, value: object, layer_types: object) -> bool:
    """Tell whether a class does not load, train or save a model with this value.

    Nothing reads the window of a model without a layer that has one.
    """
    if _words(key) and isinstance(value, list):
        return not all(word in _words(key) for word in value)
    table, code = _table(), code_of(value)
    own: Mapping[str, str] = table["own"].get(model_type, {})
    if code in own.get(key, table["every"].get(key, "")):
        return True
    is_local = not isinstance(layer_types, list) or any(
        part in str(name) for name in layer_types for part in _LOCAL
    )
    return is_local and code in table["local"].get(model_type, {}).get(key, "")


def stops_answers(key: str, value: object) -> bool:
    """Tell whether no model loads, answers or is saved with a value of generation_config.json."""
    return code_of(value) in _table()["generation"].get(key, "")


def code_of(value: object) -> str:
    """Return the letter of a value's type, of which some values have their own.

    These are the truth values, one, zero, whole numbers below it, and objects with a key that is no
    number.
    """
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, int) and value <= 1:
        return str(value) if value >= 0 else "-"
    if isinstance(value, dict) and not all(map(str.isdecimal, value)):
        return "D"
    return KINDS[type(value)]


def _words(key: str) -> Sequence[object]:
    words: Sequence[object] = _table()["words"].get(key, ())
    return words


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_table(__name__, "stopping_values.json")
    return table
