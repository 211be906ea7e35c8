"""The values of a field as offered answers: their labels, and the values of a fixed set."""

from collections.abc import Iterator, Mapping
from functools import cache
from json import dumps
from typing import Any

from ftc.spec.schema import choices, fields
from ftc.tui.questions.dialogue import Option
from ftc.tui.understanding.reading import Change, Choice


def label_value(value: object) -> str:
    """Return a value as in a spec, but a text without quotes."""
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False)


def enum_options(choice: Choice) -> Iterator[Option]:
    """Yield the values of a field with a fixed set of values."""
    for value in enums().get(choice.pointer, ()):
        change = Change(pointer=choice.pointer, value=value, words=choice.words)
        yield Option(label=label_value(value), changes=(change,))


@cache
def enums() -> Mapping[str, tuple[Any, ...]]:
    """Return the values of each field with a fixed set of values."""
    return {each.pointer: values for each in fields() if (values := choices(each.schema))}
