"""The card of a message: what was understood, what is unsure, and what was not used."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ftc.tui.draft import Draft
from ftc.tui.line import Row
from ftc.tui.understanding.reading import Reading


def make_card(reading: Reading, before: Draft, unused: Sequence[str]) -> tuple[Row, ...]:
    """Return the card's rows: the changes with their words, the open choices, the unused words."""
    return (*_set(reading, before), *_unsure(reading), *(("unused", "", each) for each in unused))


def _set(reading: Reading, before: Draft) -> Iterator[Row]:
    for change in reading.changes:
        old = before.get(change.pointer)
        if old != change.value:
            name = change.pointer[1:].replace("/", ".")
            told = f"{name}: {_written(old)} \u2192 {_written(change.value)}"
            yield "set", told, change.words.replace("\n", " ")


def _unsure(reading: Reading) -> Iterator[Row]:
    for choice in reading.choices:
        yield "unsure", choice.pointer[1:].replace("/", "."), choice.words


def _written(value: Any) -> str:
    """Return a value as a spec writes it; a dash if there is none."""
    return "\u2013" if value is None else json.dumps(value, ensure_ascii=False)
