"""Fields that a message names without a value that could be read: ftc asks about them."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ftc.tui.understanding.lexicon import WORDS, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.reading import Choice
from ftc.tui.understanding.settings import spoken_names

#: Words that mean too many things to be a field's name on their own.
_VAGUE: Final = frozenset(
    {
        *("/data/max_rows", "/launch/image", "/launch/account", "/launch/container"),
        *(
            "/launch/hours",
            "/launch/secret",
            "/launch/volume",
            "/launch/partition",
            "/model/revision",
        ),
        *("/tracking/run", "/data/subset", "/distribution/strategy", "/hardware/disk_gib"),
    }
)

#: Words that leave a field as it is: "leave the learning rate alone".
_KEPT: Final = re.compile(rf"\b{any_of(WORDS['kept'])}\b")


def read_named(message: Message) -> Iterator[Choice]:
    """Yield a question for each field whose name stands in a clause of which nothing was read."""
    for pointer, pattern in _patterns():
        match = pattern.search(message.folded)
        if match is None or message.is_read_around(*match.span()):
            continue
        if not _KEPT.search(message.clause(*match.span())):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Choice(pointer=pointer, values=(), words=words)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    kept: dict[str, str] = {}
    for pointer, words in (*WORDS["quantities"].items(), *WORDS["named"].items()):
        kept[pointer] = "|".join(filter(None, (kept.get(pointer), any_of(words))))
    kept = {**spoken_names(), **kept}
    kept = {pointer: name for pointer, name in kept.items() if pointer not in _VAGUE}
    return tuple(
        (pointer, re.compile(rf"(?<![\w-])(?:{name})(?![\w-])"))
        for pointer, name in sorted(kept.items(), key=lambda pair: -len(pair[1]))
    )
