"""Reads which quantized folders for vLLM and SGLang to export or remove."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, get_args

from ftc.spec.sections import ServedType
from ftc.tui.understanding.exports.exports import Found, choose_types
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message


def _spelt(kind: str) -> str:
    """Return the pattern of a type's name: "FP8_DYNAMIC" is also "fp8 dinamico"."""
    plain = kind.lower().replace("_", "[ _-]?")
    return plain.replace("dynamic", "d[yi]n(?:amic[ao]?)?")


#: Every type by its name with any separators, the longest first.
_TYPES: Final = tuple(
    (re.compile(rf"(?<![\w-]){_spelt(kind)}(?!\w)"), kind)
    for kind in sorted(get_args(ServedType), key=len, reverse=True)
)
_ENGINE: Final = re.compile(rf"\b{any_of(WORDS['served_engine'])}\b")
_ROUNDED: Final = re.compile(rf"\b{any_of(WORDS['served_rounded'])}\b")
_MORE: Final = re.compile(rf"\b{any_of(WORDS['more'])}\b")
#: FP8 alone is also a training precision, which ftc does not support.
_AMBIGUOUS: Final = "FP8"
#: "fp8, the dynamic flavour".
_DYNAMIC: Final = re.compile(r",?\s(?:(?:the|el|la|en|in|with|amb|con|un|una)\s)?d[yi]namic[ao]?\b")
_USUAL: Final = "FP8_DYNAMIC"


def read_served(message: Message, have: Sequence[str]) -> Iterator[Change]:
    """Yield the new list of types; `have` is the draft's list.

    Words about quantizing beside a type or beside "for vLLM" are not about GGUF files.
    """
    found = sorted(_find(message))
    if not found and not _is_asked(message):
        return
    more = _MORE.search(message.folded) is not None
    places = [each[:2] for each in found]
    denied = []
    for pattern in (_ROUNDED, _ENGINE):
        for match in message.take(pattern):
            places.append(match.span())
            denied.append(message.denied(match.start()))
    start, end = min(place[0] for place in places), max(place[1] for place in places)
    types = choose_types(found, have, more=more)
    if not found:
        types = [] if any(denied) else list(have) or [_USUAL]
    yield Change(pointer="/export/vllm", value=types, words=message.words(start, end))


def _find(message: Message) -> Iterator[Found]:
    """Yield each named type with its position, and whether it is negated."""
    for pattern, kind in _TYPES:
        for match in message.take(pattern) if _may_mean(message, kind) else ():
            later = _DYNAMIC.match(message.folded, match.end())
            said = _USUAL if later is not None and kind == _AMBIGUOUS else kind
            yield *match.span(), said, message.denied(match.start())


def _may_mean(message: Message, kind: str) -> bool:
    """Return whether a name means an export; FP8 does only beside an engine or quantizing."""
    if kind != _AMBIGUOUS:
        return True
    folded = message.folded
    return bool(_ENGINE.search(folded) or _ROUNDED.search(folded))


def _is_asked(message: Message) -> bool:
    """Return whether a message without a type requests a quantized export for an engine."""
    engine = _ENGINE.search(message.folded)
    return engine is not None and _ROUNDED.search(message.clause(*engine.span())) is not None
