"""Settles a number of GPUs that is in doubt together with the GPU's name: "I think a 3090"."""

from collections.abc import Sequence
from typing import Final

from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.message import fold

_GPU: Final = "/hardware/gpu"
_COUNT: Final = "/hardware/count"


def settle_count(told: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return the values, in which the question about a count follows that about its GPU.

    A single card is certain if its name is: "a 3090" tells no number. More of them may be per node.
    """
    card = next((each for each in told if each.pointer == _GPU), None)
    if isinstance(card, Choice):
        return sorted(told, key=lambda each: isinstance(each, Choice) and each.pointer == _COUNT)
    return [_as_certain(each, card) if isinstance(each, Choice) and card else each for each in told]


def _as_certain(each: Choice, card: Change) -> Change | Choice:
    """Return a count of one that stands in the words of its GPU as a change."""
    if (each.pointer, each.values) != (_COUNT, (1,)) or fold(each.words) not in fold(card.words):
        return each
    return Change(pointer=_COUNT, value=1, words=each.words)
