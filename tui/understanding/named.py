"""Fields that a message names without a value that could be read: ftc asks about them."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ftc.tui.understanding.lexicon import WORDS, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.spoken import spoken_names

#: Words that mean too many things to be a field's name on their own.
_VAGUE: Final = frozenset({"/data/max_rows", "/hardware/disk_gib", "/distribution/strategy"})

#: Words that give a field back to ftc: "remove the alpha", "the default rank".
_REMOVED: Final = re.compile(rf"(?:^|(?<=[\s,.;:\x00])){any_of(WORDS['remove'])}\b[\s]*(?:\S+ )?$")
_DEFAULT: Final = re.compile(rf"\b{any_of(WORDS['default'])}(?!\w)")
_ARTICLE: Final = re.compile(r"(?:the |my |that |el |la |l'|els |les |los |las )+$")
_TO_VALUE: Final = re.compile(r"\s+(?:down |back )?(?:to|a|fins a|hasta)\s+\d")
#: Words that leave a field as it is: "leave the learning rate alone".
_KEPT: Final = re.compile(rf"\b{any_of(WORDS['kept'])}\b")


def read_named(message: Message) -> Iterator[Change | Choice]:
    """Yield a question for each field whose name stands in a clause of which nothing was read.

    A field that the words remove, or leave at its default, is given back to ftc.
    """
    for pointer, pattern in field_names():
        match = pattern.search(message.folded)
        if match is None or message.is_read_around(*match.span()):
            continue
        if (start := _removed_from(message, match)) is not None:
            words = message.words(start, match.end())
            message.cross_out(start, match.end())
            yield Change(pointer=pointer, value=None, words=words)
            continue
        if not _KEPT.search(message.clause(*match.span())):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Choice(pointer=pointer, values=(), words=words)


def _removed_from(message: Message, match: re.Match[str]) -> int | None:
    """Return where the words begin that remove a named field; None if they do not."""
    if _TO_VALUE.match(message.folded, match.end()):
        return None  # "drop the rank to 8" lowers it
    before = _ARTICLE.sub("", message.folded[: match.start()])
    found = _REMOVED.search(before)
    if found is not None and "\x00" not in found[0] and not message.denied(found.start()):
        return found.start()
    return match.start() if _DEFAULT.search(message.clause(*match.span())) else None


@cache
def field_names() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns of the names of each field, the longest ones first."""
    kept: dict[str, str] = {}
    for pointer, words in (*WORDS["quantities"].items(), *WORDS["named"].items()):
        kept[pointer] = "|".join(filter(None, (kept.get(pointer), any_of(words))))
    kept = {**spoken_names(), **kept}
    kept = {pointer: name for pointer, name in kept.items() if pointer not in _VAGUE}
    return tuple(
        (pointer, re.compile(rf"(?<![\w-])(?:{name})(?![\w-])"))
        for pointer, name in sorted(kept.items(), key=lambda pair: -len(pair[1]))
    )
