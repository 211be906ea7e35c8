"""The kinds of values that the configs of transformers refuse, for each key of each class."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

__all__ = ["KINDS", "find_refused", "kind_of"]

#: The letter of each kind of a JSON value: whole and other numbers, truth values, texts, lists,
#: objects and null.
KINDS: Final[Mapping[type, str]] = {
    int: "i",
    float: "f",
    bool: "b",
    str: "s",
    list: "l",
    dict: "d",
    type(None): "n",
}


def kind_of(value: object) -> str:
    """Return the letter of a JSON value's kind."""
    return KINDS[type(value)]


def find_refused(model_type: str, key: str) -> str:
    """Return the letters of the kinds that a class refuses for a key; none if it is not known."""
    table = _table()
    model = table["models"].get(model_type, {"keys": (), "other": {}})
    if key not in model["keys"]:
        return ""
    refused: str = model["other"].get(key, table["common"][key])
    return refused


@cache
def _table() -> Mapping[str, Any]:
    text = (files("ftc.compiler.knowledge") / "config_types.json").read_text(encoding="utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table
