"""The values of a `config.json` at which transformers stops, though their type may be right."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from ftc.compiler.knowledge.architectures.config_types import KINDS
from ftc.compiler.knowledge.tables import read_table

__all__ = ["code_of", "has_window", "list_words", "stops", "stops_answers"]

_LOCAL: Final = ("sliding", "chunked")  # in the names of layer types


def stops(model_type: str, key: str, value: object, layer_types: object) -> bool:
    """Return whether a class does not load, train or save a model with this value.

    The value stops the class whatever the other settings are, except for the kinds of layers: a
    model without a sliding-window layer never reads its window.
    """
    table, code = _table(), code_of(value)
    own: Mapping[str, str] = table["own"].get(model_type, {})
    if code in own.get(key, table["every"].get(key, "")):
        return True
    of_window: Mapping[str, str] = table["local"].get(model_type, {})
    return code in of_window.get(key, "") and has_window(layer_types)


def has_window(layer_types: object) -> bool:
    """Tell whether a layer may have a window: one does by its name, or the layers have no names."""
    if not isinstance(layer_types, list):
        return True
    return any(part in str(name) for name in layer_types for part in _LOCAL)


def list_words(model_type: str, key: str, layer_types: object) -> Sequence[object] | None:
    """Return the words of a list with one entry per layer; None where a class reads no such list.

    The second list is read where a model has the first: where the file has it, or the class makes
    it.
    """
    second = "l" if isinstance(layer_types, list) else "m"
    letter = {"layer_types": "l", "mlp_layer_types": second}.get(key)
    if letter is None or letter not in _table()["lists"].get(model_type, ""):
        return None
    words: Sequence[object] = _table()["words"][key]
    return words


def stops_answers(key: str, value: object) -> bool:
    """Return whether no model loads, answers or is saved with a value of generation_config.json."""
    return code_of(value) in _table()["generation"].get(key, "")


def code_of(value: object) -> str:
    """Return the letter of a value's type; some values have their own letter.

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


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_table(__name__, "stopping_values.json")
    return table
