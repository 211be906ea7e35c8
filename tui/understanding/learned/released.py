"""Values that are set only if a linear model agrees with the patterns that a request is likely.

The features of the model are the words around a value, the other values of the message, and the
share of the message that was read. A value that `certainty` or `licence` withheld because of a
single word is set if the model finds a request, unless the model of numbers links it to another
field or to none. If no pattern withheld a value, ftc asks about it if the model finds no request
and its clause has words that no request has (`unlicensed.withhold`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.tui.understanding.bare import hide_read
from ftc.tui.understanding.learned.linear import read_model
from ftc.tui.understanding.learned.linked import Number, find_numbers
from ftc.tui.understanding.learned.requested import find_features
from ftc.tui.understanding.reading import UNSURE, Change, Choice
from ftc.tui.understanding.text.message import Message, Span, find_places

#: The minimum probability of a request, chosen on held-out messages.
SURELY_REQUESTED: Final = 0.5
#: The minimum probability of a request for a value that no pattern withheld.
LIKELY_REQUESTED: Final = 0.7
#: The minimum probability of the link between a number and its field.
_NOT_LINKED: Final = 0.2
REQUESTED: Final = "requested"
#: Column fields are never released, since a description of a column is not a request.
_COLUMNS: Final = "/data/columns/"
_WORD: Final = re.compile(r"[a-z]+")
_MOST_CHANGES: Final = 4
_MOST_CHOICES: Final = 3
_LONGEST: Final = 6
_WORDS_IN_STEP: Final = 4


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
    return not _is_requested(text, change, told, LIKELY_REQUESTED)


def is_withheld(said: Change | Choice) -> bool:
    """Return whether one pattern found a value and another one put it in doubt."""
    single = isinstance(said, Choice) and said.why == UNSURE and len(said.values) == 1
    return single and not said.pointer.startswith(_COLUMNS)


def _is_meant(
    text: str, choice: Choice, told: Sequence[Change | Choice], numbers: Sequence[Number]
) -> bool:
    at = choice.pointer
    same = [each for each in numbers if each.values.get(at) == choice.values[0]]
    linked = max((each.weigh()[at] for each in same), default=None)
    return (linked is None or linked > _NOT_LINKED) and _is_requested(
        text, choice, told, SURELY_REQUESTED
    )


def _is_requested(
    text: str, said: Change | Choice, told: Sequence[Change | Choice], least: float
) -> bool:
    """Return whether a request is more likely than `least`; False if the words are not found."""
    features = find_signs(text, said, told)
    if not features:
        return isinstance(said, Change)
    return read_model("withheld").weigh(features, {REQUESTED: {}})[REQUESTED] > least


def find_signs(text: str, said: Change | Choice, told: Sequence[Change | Choice]) -> frozenset[str]:
    """Return the features of a value, from which its probability is computed."""
    places = find_places(text, said.words)
    if not places:
        return frozenset()
    spans = [span for each in told for span in find_places(text, each.words)]
    return frozenset(_signs(text, hide_read(text, spans), places[0], said, told))


def _signs(
    text: str, bare: str, place: Span, said: Change | Choice, told: Sequence[Change | Choice]
) -> Iterator[str]:
    yield from find_features(bare, place, said.pointer)
    changes = sum(isinstance(each, Change) for each in told)
    yield "bias"
    yield "withheld" if isinstance(said, Choice) else "kept"
    yield f"changes:{min(_MOST_CHANGES, changes)}"
    yield f"choices:{min(_MOST_CHOICES, len(told) - changes)}"
    yield f"unread:{min(_LONGEST, len(_WORD.findall(bare)) // _WORDS_IN_STEP)}"
    yield "asks" if "?" in text else "tells"
