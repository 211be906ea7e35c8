"""Hardware that is part of a report about what somebody else did."""

from collections.abc import Sequence
from typing import Final

from ftc.tui.understanding.reading import UNSURE, Change, Choice, ask_about
from ftc.tui.understanding.text.message import SENTENCE_END, find_around, find_places, fold

_HARDWARE: Final = "/hardware/"
_TWO: Final = 2


def doubt_reported_hardware(text: str, told: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return what was told, with a question about hardware in a sentence that is only a report.

    Hardware is set without words of a request, since people just say what they have. In "she
    trained hers for 6 epochs, full, on three H100s" the other values show that it is a report.
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
        ask_about(each)
        if isinstance(each, Change) and each.pointer.startswith(_HARDWARE) and each in doubted
        else each
        for each in told
    ]


def _is_report(said: Sequence[Change | Choice]) -> bool:
    """Return whether at least two other values are doubted, and no other value is sure."""
    others = [each for each in said if not each.pointer.startswith(_HARDWARE)]
    doubted = [each for each in others if isinstance(each, Choice) and each.why == UNSURE]
    return len(doubted) >= _TWO and len(doubted) == len(others)
