"""Values that are set only if a linear model agrees with the patterns that a request is likely.

The features of the model are what the clauses of a message do (`evidence`). A value that
`certainty` or `licence` withheld because of a single word is set if the model finds a request,
unless the model of numbers links it to another field or to none. If no pattern withheld a value,
ftc asks about it if the model finds a request unlikely (`unlicensed.withhold`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ftc.tui.understanding.elsewhere import find_people
from ftc.tui.understanding.learned.linear import read_model
from ftc.tui.understanding.learned.linked import Number, find_numbers
from ftc.tui.understanding.reading import UNSURE, Change, Choice
from ftc.tui.understanding.text.message import Message, find_places
from ftc.tui.understanding.wanted.evidence import find_evidence

#: The minimum probability of a request for a withheld value, and for one that no pattern withheld.
#: On 480 held-out messages the first releases 17 of 30 right values and 2 of 75 wrong ones, the
#: second withholds 1 of 812 right values and 12 of 40 wrong ones.
SURELY_REQUESTED: Final = 0.5
HARDLY_REQUESTED: Final = 0.4
#: The minimum probability of the link between a number and its field.
_NOT_LINKED: Final = 0.2
REQUESTED: Final = "requested"
#: Column fields are never released or withheld, since a description of a column is not a request.
_COLUMNS: Final = "/data/columns/"


def release(
    message: Message, text: str, told: Sequence[Change | Choice], draft: Mapping[str, Any]
) -> list[Change | Choice]:
    """Return the values, with each withheld value that is probably requested as a change."""
    if not any(map(is_withheld, told)):
        return list(told)
    numbers = find_numbers(message, draft)
    return [
        Change(pointer=each.pointer, value=each.values[0], words=each.words)
        if isinstance(each, Choice) and is_withheld(each) and _is_meant(text, each, told, numbers)
        else each
        for each in told
    ]


def is_unlikely(text: str, change: Change, told: Sequence[Change | Choice]) -> bool:
    """Return whether a value that no pattern withheld is probably not requested."""
    return not change.pointer.startswith(_COLUMNS) and not _is_requested(
        text, change, told, HARDLY_REQUESTED
    )


def is_withheld(said: Change | Choice) -> bool:
    """Return whether one pattern found a value and another one put it in doubt."""
    single = isinstance(said, Choice) and said.why == UNSURE and len(said.values) == 1
    return single and not said.pointer.startswith(_COLUMNS)


def _is_meant(
    text: str, choice: Choice, told: Sequence[Change | Choice], numbers: Sequence[Number]
) -> bool:
    at = choice.pointer
    if _tells_of_others(text, choice.words):
        return False
    same = [each for each in numbers if each.values.get(at) == choice.values[0]]
    linked = max((each.weigh()[at] for each in same), default=None)
    return (linked is None or linked > _NOT_LINKED) and _is_requested(
        text, choice, told, SURELY_REQUESTED
    )


def _tells_of_others(text: str, words: str) -> bool:
    """Return whether the words of a value are about somebody else: "Priya uses NVFP4"."""
    people = find_people(text)
    return any(
        start < stop and begin < end
        for start, end in find_places(text, words)
        for begin, stop in people
    )


def _is_requested(
    text: str, said: Change | Choice, told: Sequence[Change | Choice], least: float
) -> bool:
    """Return whether a request is more likely than `least`; a value without features if kept."""
    features = find_evidence(text, said, told)
    if not features:
        return isinstance(said, Change)
    return read_model("withheld").weigh(features, {REQUESTED: {}})[REQUESTED] > least
