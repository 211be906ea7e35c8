"""The names of fields and of the plan's decisions in the assistant's languages."""

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ftc.spec.schema import fields, read_schema
from ftc.tui.languages.voice import Language

_SHORT: Final = "x-short"


def find_asked(pointer: str) -> str:
    """Return the field for a pointer into a written spec: `/model` means `/model/id`.

    A value inside a field, such as an option of a template, belongs to the field.
    """
    known = _titles()
    while pointer not in known:
        pointer = pointer.rpartition("/")[0]
    short = read_schema()["properties"].get(pointer[1:], {}).get(_SHORT)
    return pointer if short is None else f"{pointer}/{short}"


def name_field(pointer: str, language: Language) -> str:
    """Return the name of a field; raises KeyError if the pointer is not a field's."""
    if language == "en":
        return _titles()[pointer]
    return str(_names()["fields"][pointer][language])


def name_decision(name: str, language: Language) -> str:
    """Return the name of a decision: the name of its field, its own name, or its raw key."""
    own = _names()["decisions"].get(name)
    if isinstance(own, Mapping):
        return str(own[language])
    pointer = own or _by_key().get(name)
    return name if pointer is None else name_field(pointer, language)


@cache
def _titles() -> Mapping[str, str]:
    return {field.pointer: str(field.schema["title"]) for field in fields()}


@cache
def _by_key() -> Mapping[str, str]:
    """Return the fields by their last key, for keys that only one field has."""
    keys = Counter(pointer.rpartition("/")[2] for pointer in _titles())
    last = ((pointer.rpartition("/")[2], pointer) for pointer in _titles())
    return {key: pointer for key, pointer in last if keys[key] == 1}


@cache
def _names() -> Mapping[str, Any]:
    text = (files("ftc.tui") / "catalogue" / "names.json").read_text(encoding="utf-8")
    names: Mapping[str, Any] = json.loads(text)
    return names
