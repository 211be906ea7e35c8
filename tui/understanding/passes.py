"""Passes over the data, without the word epoch: "show it the data four times"."""

import re
from collections.abc import Iterator
from typing import Any, Final

from ftc.tui.understanding.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.numbers import as_written, read_number
from ftc.tui.understanding.reading import Change

_PASSES: Final[Any] = WORDS["passes"]
_SEEN: Final = any_of(_PASSES["seen"])
_DATA: Final = any_of(_PASSES["data"])
_TIMES: Final = (
    rf"(?:(?P<number>{NUMBER}) {any_of(_PASSES['times'])}|(?P<once>once)|(?P<twice>twice))(?!\w)"
    r"(?! (?:as|more|mes|mas|slower|faster|bigger|the)\b)"
)
_GAP: Final = r"[^.;,:!?\n\x00]{0,36}?"
_SENTENCES: Final = (
    re.compile(rf"\b{_SEEN}\b{_GAP}\b{_DATA}\b{_GAP}\b{_TIMES}"),
    re.compile(rf"\b{_SEEN}\b{_GAP}\b{_TIMES} (?:{any_of(_PASSES['over'])} )?{_DATA}\b"),
    re.compile(rf"\b{_DATA}\b{_GAP}\b{_SEEN}\b{_GAP}\b{_TIMES}"),
)


def read_passes(message: Message) -> Iterator[Change]:
    """Yield the epochs of a message that says how often the rows are seen."""
    for pattern in _SENTENCES:
        for match in message.take(pattern):
            number = 2.0 if match["twice"] else 1.0
            number = number if match["number"] is None else read_number(match["number"]) or 0.0
            if number > 0 and not message.denied(match.start()):
                words = message.words(*match.span())
                yield Change(pointer="/training/epochs", value=as_written(number), words=words)
