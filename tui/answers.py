"""A bare answer: a message that says nothing but the value of the field that was asked."""

import re
from collections.abc import Mapping
from typing import Any, Final

from ftc.spec.expectation import types_of
from ftc.spec.schema import branches, fields
from ftc.tui.choices import slug
from ftc.tui.understanding.message import fold
from ftc.tui.understanding.numbers import as_written, read_number
from ftc.tui.understanding.reading import Change

_LONGEST: Final = 200
_WORDS_OF_TALK: Final = 4


def read_answer(pointer: str, text: str) -> Change | None:
    """Return the change that a bare answer makes to a field, None where it cannot be one.

    A sentence of many words is talk, not the value of a path, a name or a model.
    """
    text = text.strip().strip("\"'`")
    if pointer == "/name":
        return Change(pointer=pointer, value=slug(text), words=text) if _is_short(text) else None
    for schema in branches(_schemas()[pointer]):
        value = _fitting(schema, text)
        if value is not None:
            return Change(pointer=pointer, value=value, words=text)
    return None


def _fitting(schema: Mapping[str, Any], text: str) -> Any:
    if "enum" in schema:
        folded = fold(text)
        return next((v for v in schema["enum"] if fold(str(v)) == folded), None)
    kinds = types_of(schema)
    if "integer" in kinds or "number" in kinds:
        number = read_number(fold(text))
        return None if number is None else as_written(number)
    if "string" in kinds and _is_short(text):
        pattern = schema.get("pattern")
        return text if pattern is None or re.search(pattern, text) else None
    return None


def _is_short(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and len(text.split()) <= _WORDS_OF_TALK


def _schemas() -> Mapping[str, Mapping[str, Any]]:
    return {field.pointer: field.schema for field in fields()}
