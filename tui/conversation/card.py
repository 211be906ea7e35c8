"""The card of a message: what was understood, what is uncertain, and what was not used."""

from collections.abc import Iterator, Sequence
from typing import Any

from ftc.tui.state.draft import Draft, show_value
from ftc.tui.state.line import Row
from ftc.tui.understanding.reading import Reading


def make_card(reading: Reading, before: Draft, unused: Sequence[str]) -> tuple[Row, ...]:
    """Return the card's rows: the changes with their words, the open choices, the unused words."""
    left = (Row(kind="unused", what="", words=each) for each in unused)
    return (*_set(reading, before), *_unsure(reading), *left)


def _set(reading: Reading, before: Draft) -> Iterator[Row]:
    for change in reading.changes:
        old = before.get(change.pointer)
        if old != change.value:
            yield Row(
                kind="set",
                what=change.pointer[1:].replace("/", "."),
                words=change.words.replace("\n", " "),
                before=_written(old),
                after=_written(change.value),
            )


def _unsure(reading: Reading) -> Iterator[Row]:
    for choice in reading.choices:
        what = choice.pointer[1:].replace("/", ".")
        yield Row(kind="unsure", what=what, words=choice.words)


def _written(value: Any) -> str:
    """Format a value for display; a dash if there is none."""
    return "\u2013" if value is None else show_value(value)
