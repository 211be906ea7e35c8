"""Finds what the last words of a message undo: "rank 8. Hm, no, forget I said anything".

"Leave it as it was" may be about one field, and undoes the rest only after a word that turns
("no", "on second thought"), between which and itself only the reason may stand.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.tui.understanding.text.lexicon import any_of
from ftc.tui.understanding.text.message import SENTENCE_END, Span, find_around, fold
from ftc.tui.understanding.text.word_tables import word_table

_ASIDE: Final[Mapping[str, Any]] = word_table("aside")
_GAP: Final = r"[\s,.;:!\u2026()\u2013\u2014-]*"
#: A few words at most, because the number of ways to split "no no no" grows exponentially.
_WORDS: Final = rf"(?:(?:{any_of(_ASIDE['opening'])})\b{_GAP}){{0,6}}"
_OPENING: Final = rf"{_GAP}{_WORDS}"
_ONLY_OPENING: Final = re.compile(_OPENING)
_ALL: Final = any_of(_ASIDE["all"])
_IT: Final = any_of(_ASIDE["it"])
_COURTESY: Final = (
    r"(?:thanks?(?: you)?|please|sorry|gracies|gracias|perdo|perdon|perdona|sisplau|si us plau"
    r"|por favor|then|anyway|after all|for now|al final|de moment|de momento|doncs|pues|ok|okay)"
)
#: Where a clause begins.
_SIGN: Final = rf"(?:^|[.,;:!?\u2026\n(\u2013\u2014-]\s*|\b{any_of(_ASIDE['break'])}\s+)"
_SO: Final = rf"(?<!\w){any_of(_ASIDE['so'])}"
_REASON: Final = rf"(?:[\s,.;:(\u2026-]+{any_of(_ASIDE['reason'])}\b[^.!?\n]*)?"
_END: Final = rf"{_GAP}(?:{_COURTESY}{_GAP})*{_REASON}{_GAP}$"
#: "Leave it as it was, because I am curious", at the end of a message.
_LEFT: Final = re.compile(rf"{_SO}\b{_END}")
#: "No", "I don't", "on second thought", and what stands between it and the words that undo.
_TURN: Final = re.compile(
    rf"{_SIGN}{_WORDS}(?P<turn>(?:(?:i|we|yo|jo)\s+)?{any_of(_ASIDE['turn'])})(?![\w-])"
    rf"(?={_OPENING}$|\s*[.,;:!\u2026]|\s+{any_of(_ASIDE['reason'])}\b)"
)
#: "No wait, don't, the credit ends at noon, forget it": the whole sentence undoes the one before.
_TURNS: Final = re.compile(rf"{_OPENING}{any_of(_ASIDE['turn'])}(?=\s*[.,;:!\u2026])")
#: What is asked for between the two, or left out of what is undone, so that nothing is undone.
_OWN: Final = re.compile(rf"[\d\n]|\b(?:{any_of(_ASIDE['order'])}|{any_of(_ASIDE['rest'])})\b")
#: How many characters before the words that undo a word that turns may stand.
_NEAR: Final = 100
#: Words at the end of a message that undo what comes before them. They begin a clause: in "the
#: name, tant se val", and not in "the duplicates drop them".
_UNDONE: Final = re.compile(
    rf"{_SIGN}{_WORDS}(?P<said>(?:{_ALL}|{_IT})\b(?:{_OPENING}(?:{_ALL}|{_IT}|{_SO})\b)*){_END}"
)
#: Words that undo everything before them, after which the message starts again.
_ANEW: Final = re.compile(rf"{_SIGN}{_WORDS}{_ALL}(?=\s*[.,;:!\u2026\n\u2013\u2014-])")
_OF_ALL: Final = re.compile(rf"(?<![\w-]){_ALL}\b")
#: Alternatives with a free choice: "lora or qlora, never mind which".
_EITHER: Final = re.compile(r"\b(?:or|o|u|whichever|qualsevol|cualquiera)\b|\?")
#: Nothing changes: "no, don't change anything yet, I have found the error".
_UNCHANGED: Final = re.compile(
    rf"{_SIGN}(?P<opening>{_WORDS}){any_of(_ASIDE['unchanged'])}(?![\w'-])(?!\s+{any_of(_ASIDE['beside'])}\b)"
)
_YET: Final = re.compile(rf"\s+{any_of(_ASIDE['yet'])}\b")
_ORDERS: Final = re.compile(rf"\b{any_of(_ASIDE['order'])}\b")


def begins_anew(folded: str, at: int) -> bool:
    """Return whether words at a place undo all before them, and the message goes on."""
    return _ANEW.match(folded, at) is not None


def find_undone(text: str) -> Iterator[Span]:
    """Yield the ranges that words of a message undo.

    At its end they undo their own sentence if it has text before them, and otherwise everything
    before.
    """
    folded = fold(text)
    begins = [each.end() for each in _ANEW.finditer(folded)]
    begins += [each.end() for each in _UNCHANGED.finditer(folded) if _undoes(folded, each)]
    if begins:
        yield 0, max(begins)
    match = _UNDONE.search(folded)
    opening, said = (match.start(), match.start("said")) if match else _find_turn(folded)
    if said < 0:
        return
    first = find_around(SENTENCE_END, folded, (said, said))[0]
    alone = _ONLY_OPENING.fullmatch(folded, first, said) is not None
    alone |= _TURNS.match(folded, first) is not None
    whole = match is not None and _OF_ALL.search(match["said"]) is not None
    if not whole and _EITHER.search(folded, first, max(first, opening)):
        return
    yield (0 if whole or alone else first), len(text)


def _find_turn(folded: str) -> Span:
    """Return where the clause and its word begin that turn to "leave it as it was", or -1 twice."""
    for left in _LEFT.finditer(folded):
        begin = max(0, left.start() - _NEAR)
        for turn in _TURN.finditer(folded[begin : left.start()]):
            if not _OWN.search(folded, begin + turn.end(), left.start()):
                return begin + turn.start(), begin + turn.start("turn")
    return -1, -1


def _undoes(folded: str, unchanged: re.Match[str]) -> bool:
    """Return whether words such as "don't change anything" undo the text before them.

    After an order they only protect the rest, unless a hesitation introduces them.
    """
    hesitates = unchanged["opening"].strip(" ,.;:!\u2026") != ""
    waits = _YET.match(folded, unchanged.end()) is not None
    return hesitates or waits or _ORDERS.search(folded, 0, unchanged.start()) is None
