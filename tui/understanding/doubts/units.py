"""Numbers with the unit of another field or owner: "a batch of 1,024 tokens", "rank of 8 GB".

A field's schema names the unit of its number. If a number has another unit, ftc asks about it.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from ftc.spec.schema import find_field
from ftc.tui.understanding.reading import UNSURE, Change, Choice
from ftc.tui.understanding.text.message import SENTENCE_END, find_around, find_places, fold

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
#: "16 people will use it, 4 at a time": no rows.
_BATCHES: Final = frozenset({"/training/global_batch", "/training/micro_batch"})
_PEOPLE: Final = re.compile(
    r"\b(?:people|users|customers|clients|students|colleagues|visitors|persones|usuaris|alumnes"
    r"|personas|usuarios|alumnos|clientes)\b"
)
_NAMED: Final = re.compile(r"batch|lot|row|fil[ae]|example|exempl|ejemplo")
#: "dropout rates at our school are at 20%": a place or an owner between the name and the number.
_OF_PLACE: Final = re.compile(
    r"\b(?:at|in|of|from|al|en|de|del|dels)\s(?:my|our|his|her|their|mi|mis|nuestr\w+|(?:el|la"
    r"|els|les) (?:meu|meva|meus"
    r"|meves|nostr\w+))\s(?!(?:run|runs|model|spec|training|case|data|dataset|adapter|loss|entrenament|entrenamiento"
    r"|dades|datos|cas|caso)\b)[a-z]+"
)
_NUMBER: Final = re.compile(r"\d[\d.,]*k?")
_ANY: Final = "|".join(rf"(?P<{kind}>{words})" for kind, (words, _) in _UNITS.items())
#: Not the unit of a rate: "400 Gb/s".
_UNIT: Final = re.compile(rf"\s?(?:{_ANY})(?![\w/])")


def doubt_units(text: str, told: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return the values, with a question for each number that has the unit of another field."""
    folded = fold(text)
    return [
        Choice(pointer=each.pointer, values=(), words=each.words, why=UNSURE)
        if isinstance(each, Change)
        and (_has_other_unit(text, folded, each) or _is_of_others(text, folded, each))
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


def _is_of_others(text: str, folded: str, change: Change) -> bool:
    """Return whether a number counts people, or is that of a place between its words."""
    if isinstance(change.value, bool) or not isinstance(change.value, int | float):
        return False
    words = fold(change.words)
    if _OF_PLACE.search(words) is not None and not change.pointer.startswith("/hardware/"):
        return True
    return (
        change.pointer in _BATCHES
        and _NAMED.search(words) is None
        and any(
            _PEOPLE.search(folded, *find_around(SENTENCE_END, folded, place)) is not None
            for place in find_places(text, change.words)[:1]
        )
    )


@cache
def _units_of(pointer: str) -> frozenset[str]:
    """Return the units that a field's name, title or description mentions."""
    field = find_field(pointer)
    said = " ".join((pointer, str(field.schema.get("title", "")), str(field.schema)))
    return frozenset(
        kind for kind, (_, words) in _UNITS.items() if re.search(words, said, re.IGNORECASE)
    )
