"""Replaces the values that no request sets (see `licence`) by questions."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from ftc.tui.understanding.reading import Change, Choice, ask_about
from ftc.tui.understanding.text.message import find_places, fold
from ftc.tui.understanding.wanted.licence import find_unlicensed, is_examined
from ftc.tui.understanding.wanted.released import is_unlikely

_OVERLONG: Final = "/data/cleaning/overlong"
#: The separator of two values of a list.
_LIST_JOINS: Final = re.compile(r"\s+(?:and|i|y|amb|con|with)\s+")


def ask_unlicensed(
    text: str, told: Sequence[Change | Choice], said: Sequence[Change | Choice]
) -> list[Change | Choice]:
    """Return the values, with a question in place of each value that no request sets.

    `said` are all values read: the words of a replaced value are no evidence either.
    """
    spans = [span for each in (*told, *said) for span in find_places(text, each.words)]
    changes = [each for each in told if isinstance(each, Change)]
    unlicensed = find_unlicensed(text, changes, spans)
    unlicensed |= _joined_to(text, changes, unlicensed)
    unlicensed |= _of_same_words(changes, unlicensed)
    return [
        ask_about(each) if isinstance(each, Change) and each.pointer in unlicensed else each
        for each in told
    ]


def withhold(
    text: str, told: Sequence[Change | Choice], found: Sequence[Change | Choice]
) -> list[Change | Choice]:
    """Return the values, with a question for each of those `found` that is probably not requested.

    Values decided by another step are kept.
    """
    return [
        ask_about(each)
        if isinstance(each, Change) and each in found and is_unlikely(text, each, told)
        else each
        for each in told
    ]


def _of_same_words(changes: Sequence[Change], doubted: set[str]) -> set[str]:
    """Return the treatment of long rows if its words are those of a length in doubt.

    "Vectors that are cut to 256 numbers" is not about rows.
    """
    words = {each.words for each in changes if each.pointer in doubted}
    return {each.pointer for each in changes if each.pointer == _OVERLONG and each.words in words}


def _joined_to(text: str, changes: Sequence[Change], doubted: set[str]) -> set[str]:
    """Return the fields listed together with a field in doubt: "with lr 1e-5 and 10 epochs"."""
    places = sorted(
        (span, each.pointer) for each in changes for span in find_places(text, each.words)[:1]
    )
    joined: set[str] = set()
    for ((_, end), before), ((start, _), pointer) in pairwise(places):
        if before in doubted | joined and _LIST_JOINS.fullmatch(fold(text[end:start])):
            joined.add(pointer)
    return {pointer for pointer in joined if is_examined(pointer)}
