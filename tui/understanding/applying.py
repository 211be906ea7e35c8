"""Decides from the draft and the message whether a field applies (`x-when`)."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final

from ftc.spec.schema import Field, choices, find_field
from ftc.tui.understanding.reading import value_at
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.word_tables import word_table

#: The names of each field in three languages, and the words for its values.
SPOKEN: Final[Mapping[str, Any]] = word_table("names")


def applies(field: Field, message: Message, draft: Mapping[str, Any]) -> bool | None:
    """Return whether the draft or the message meets the conditions under which a field is read.

    None if the field has no conditions, or depends on a default that neither of them replaces.
    """
    certain = "x-when" in field.schema
    for pointer, values in field.schema.get("x-when", {}).items():
        if any(_is_named(pointer, value, message.plain) for value in values):
            continue
        now = value_at(draft, pointer)
        if (
            now is None
            and find_field(pointer).schema.get("default") in values
            and not _names_other(pointer, message)
        ):
            certain = False
        elif now not in values:
            return False
    return True if certain else None


def _names_other(pointer: str, message: Message) -> bool:
    """Return whether a message names a value of a field that is not its default."""
    schema = find_field(pointer).schema
    return any(
        _is_named(pointer, value, message.plain)
        for value in choices(schema)
        if value != schema.get("default")
    )


@lru_cache(maxsize=1024)  # many fields depend on the same values
def _is_named(pointer: str, value: Any, text: str) -> bool:
    return _named_by(pointer, value).search(text) is not None


@cache
def _named_by(pointer: str, value: Any) -> re.Pattern[str]:
    """Return the words that name a value of a field: "k8s", "clasificacion"."""
    said = [
        any_of(each)
        for each in WORDS["values"]
        if (each["pointer"], each["value"]) == (pointer, value)
    ]
    spoken = SPOKEN.get(pointer, {}).get("values", {}).get(value)
    said += [any_of(spoken)] if spoken else []
    return re.compile(rf"(?<![\w-])(?:{'|'.join((re.escape(str(value)), *said))})(?![\w-])")
