"""Numbers with the unit of another field: "a batch of 1,024 tokens", "rank of 8 GB".

A field's schema names the unit of its number. If a number has another unit, ftc asks about it.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from ftc.spec.schema import find_field
from ftc.tui.understanding.reading import UNSURE, Change, Choice
from ftc.tui.understanding.text.message import find_places, fold

#: For each unit, the words for it in three languages, and how the schema mentions it.
_UNITS: Final[Mapping[str, tuple[str, str]]] = {
    "tokens": (r"tok(?:en)?s?", r"token|\blengths?\b"),
    "hours": (r"h|hrs?|hours?|hores?|horas?", r"hour"),
    "cores": (
        r"-?(?:cpu )?cores?|v?cpus?|threads?|nucle(?:os?|us)|nuclis?|hilos?|fils?",
        r"\bcores?\b|worker|\bthreads?\b",
    ),
    "memory": (r"gi?b|gigas?|gigues", r"\bGi?B\b|\bgb\b|byte|memory|gbit"),  # "200Gb" of a network
}
_NUMBER: Final = re.compile(r"\d[\d.,]*k?")
_ANY: Final = "|".join(rf"(?P<{kind}>{words})" for kind, (words, _) in _UNITS.items())
#: Not the unit of a rate: "400 Gb/s".
_UNIT: Final = re.compile(rf"\s?(?:{_ANY})(?![\w/])")


def doubt_units(text: str, told: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return the values, with a question for each number that has the unit of another field."""
    folded = fold(text)
    return [
        Choice(pointer=each.pointer, values=(), words=each.words, why=UNSURE)
        if isinstance(each, Change) and _has_other_unit(text, folded, each)
        else each
        for each in told
    ]


def _has_other_unit(text: str, folded: str, change: Change) -> bool:
    if isinstance(change.value, bool) or not isinstance(change.value, int | float):
        return False
    for start, end in find_places(text, change.words)[:1]:
        numbers = list(_NUMBER.finditer(folded, start, end))
        if len(numbers) != 1:
            return False
        unit = _UNIT.match(folded, numbers[0].end())
        if unit is not None and unit.lastgroup is not None:
            return unit.lastgroup not in _units_of(change.pointer)
    return False


@cache
def _units_of(pointer: str) -> frozenset[str]:
    """Return the units that a field's name, title or description mentions."""
    field = find_field(pointer)
    said = " ".join((pointer, str(field.schema.get("title", "")), str(field.schema)))
    return frozenset(
        kind for kind, (_, words) in _UNITS.items() if re.search(words, said, re.IGNORECASE)
    )
