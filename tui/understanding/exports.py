"""GGUF types: which are wanted, and which no longer."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ftc.tui.understanding.lexicon import WORDS, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.reading import Change

_TYPES: Final = tuple(
    (re.compile(rf"(?<![\w-])(?:{'|'.join(words)})(?![\w])"), kind)
    for kind, words in WORDS["gguf"].items()
)
_ANY_GGUF: Final = re.compile(rf"\b{any_of(WORDS['any_gguf'])}\b")
_USUAL: Final = "Q4_K_M"
_MORE: Final = re.compile(rf"\b{any_of(WORDS['more'])}\b")


def read_exports(message: Message, have: Sequence[str]) -> Iterator[Change]:
    """Yield the list of types that the message leaves; `have` is the draft's.

    Named types replace the list, unless they are said to be added; denied ones leave it.
    """
    wanted: list[str] = []
    unwanted: list[str] = []
    places: list[tuple[int, int]] = []
    more = _MORE.search(message.folded) is not None
    for pattern, kind in _TYPES:
        for match in message.take(pattern):
            (unwanted if message.denied(match.start()) else wanted).append(kind)
            places.append(match.span())
    general = [(m.span(), message.denied(m.start())) for m in message.take(_ANY_GGUF)]
    if not places and not general:
        return
    start = min(place[0] for place in [*places, *(place for place, _ in general)])
    end = max(place[1] for place in [*places, *(place for place, _ in general)])
    types = _left(wanted, unwanted, have, more=more)
    if not places:
        types = [] if general[0][1] else list(have) or [_USUAL]
    yield Change(pointer="/export/types", value=types, words=message.words(start, end))


def _left(
    wanted: Sequence[str], unwanted: Sequence[str], have: Sequence[str], *, more: bool
) -> list[str]:
    base = have if more or not wanted else ()
    kept = [kind for kind in base if kind not in unwanted]
    return list(dict.fromkeys([*kept, *wanted]))
