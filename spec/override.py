"""Overrides: replace single values of a loaded document without editing the file."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ftc.spec.normal import lengthen
from ftc.spec.pointer import join
from ftc.spec.text.document import Document


def apply_overrides(document: Document, overrides: Mapping[str, str]) -> Document:
    """Return the document with each dotted path set to its value (JSON if it parses, else text).

    A section in its short form becomes an object if a key inside it is set. What is set has no
    position in the text.
    """
    if not overrides or not isinstance(document.data, Mapping):
        return document
    data = dict(document.data)
    for path, text in overrides.items():
        _set(data, path.split("."), _parse(text))
    pointers = frozenset(join(path.split(".")) for path in overrides)
    return replace(document, data=data, overridden=pointers)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _set(data: dict[str, Any], keys: list[str], value: Any) -> None:
    first, *rest = keys
    if not rest:
        data[first] = value
        return
    inner = lengthen(first, data[first]) if first in data else {}
    data[first] = dict(inner) if isinstance(inner, Mapping) else {}
    _set(data[first], rest, value)
