"""What goes with doubted values: how many GPUs of that kind, the GPU of a report.

"Four A100s" names one thing. If the message does not request the GPU, it does not request four of
them either.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.message import SENTENCE_END, find_around, find_places, fold

#: Fields whose value says something of another field's.
_OWNERS: Final[Mapping[str, str]] = {
    "/hardware/count": "/hardware/gpu",
    "/hardware/nodes": "/hardware/gpu",
    "/model/revision": "/model/id",
    "/data/split": "/data/source",
    "/data/subset": "/data/source",
    "/data/revision": "/data/source",
}
_UNSURE: Final = "unsure"
_NEAR: Final = 16
_HARDWARE: Final = "/hardware/"
_TWO: Final = 2


def doubt_company(text: str, told: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return what was told, with a question for hardware beside values that are all doubted.

    People state what hardware they have without requesting it, so no pattern looks at the words
    around it. "She trained hers for 6 epochs, full, on three H100s" is a report as a whole.
    """
    folded = fold(text)
    places = [(each, find_places(text, each.words)[:1]) for each in told]
    sentences = [
        (each, find_around(SENTENCE_END, folded, place[0])) for each, place in places if place
    ]
    reports = {
        sentence
        for _, sentence in sentences
        if _is_report([each for each, other in sentences if other == sentence])
    }
    doubted = [each for each, sentence in sentences if sentence in reports]
    return [
        Choice(pointer=each.pointer, values=(each.value,), words=each.words, why=_UNSURE)
        if isinstance(each, Change) and each.pointer.startswith(_HARDWARE) and each in doubted
        else each
        for each in told
    ]


def _is_report(said: Sequence[Change | Choice]) -> bool:
    """Return whether all values but the hardware are doubted, and at least two are."""
    others = [each for each in said if not each.pointer.startswith(_HARDWARE)]
    doubted = [each for each in others if isinstance(each, Choice) and each.why == _UNSURE]
    return len(doubted) >= _TWO and len(doubted) == len(others)


def doubt_belongings(text: str, told: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return what was told, without the changes that say something of a doubted value beside them.

    They are dropped and not asked about: the answer about the owner comes first. A name with
    several meanings is not doubted.
    """
    doubted = {
        each.pointer: find_places(text, each.words)
        for each in told
        if isinstance(each, Choice) and each.why == _UNSURE and len(each.values) == 1
    }
    return [each for each in told if not _is_dropped(text, each, doubted)]


def _is_dropped(
    text: str, said: Change | Choice, doubted: Mapping[str, Sequence[tuple[int, int]]]
) -> bool:
    owner = _OWNERS.get(said.pointer, "")
    if not isinstance(said, Change) or owner not in doubted:
        return False
    return any(
        start <= last + _NEAR and first <= end + _NEAR
        for start, end in find_places(text, said.words)[:1]
        for first, last in doubted[owner]
    )
