"""Turns the words around a value into features of a linear model.

The features are classes of words and forms of clauses: whether the clause is an order, reports
the past, is about somebody else, or is followed by an order. None of them is a single word, so that
they mean the same in a message whose words no annotated message has; what single words are evidence
of is one number (`requested.report_score`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from ftc.tui.understanding.bare import hide_read
from ftc.tui.understanding.certainty import CONDITION, GUESS, TOLD, is_endorsed
from ftc.tui.understanding.elsewhere import find_people
from ftc.tui.understanding.learned.requested import find_features, report_score
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import SENTENCE_END, Span, find_around, find_places, fold
from ftc.tui.understanding.text.ordinary import read_words
from ftc.tui.understanding.text.verbs import asking_forms
from ftc.tui.understanding.text.word_tables import word_table
from ftc.tui.understanding.wanted.licence import (
    CLAUSE_END,
    LONGEST_CLAUSE,
    REPORTS,
    find_begin,
    find_quoted,
    has_foreign_words,
    is_governed,
    is_known,
    is_ordered,
)
from ftc.tui.understanding.wanted.orders import (
    COMMANDS,
    OBLIGES,
    ORDERS,
    OTHERS_SAY,
    REPEATS,
    SHORT_ORDERS,
    WISHES,
    WORD,
    bare_forms,
    begins_as_request,
    is_enclitic,
)

_TABLE: Final[Mapping[str, Any]] = word_table("evidence")
_PEOPLE: Final[Mapping[str, Any]] = word_table("elsewhere")
_CLASSES: Final[Mapping[str, re.Pattern[str]]] = {
    **{
        name: re.compile(rf"(?<!\w){any_of(_TABLE[name])}(?!\w)")
        for name in _TABLE
        if name != "about"
    },
    "others": re.compile(
        rf"(?<!\w)(?:{'|'.join(any_of(_PEOPLE[each]) for each in ('person', 'pronoun'))})(?!\w)"
    ),
    "document": re.compile(rf"(?<!\w){any_of(_PEOPLE['document'])}(?!\w)"),
    "tells": TOLD,
    "guesses": GUESS,
    "condition": CONDITION,
    "reports": REPORTS,
    "others say": OTHERS_SAY,
    "obliges": OBLIGES,
    "corrects": re.compile(rf"\b{any_of(WORDS['corrects'])}(?!\w)"),
}
_MOST: Final = 4
_MOST_OF_SCORE: Final = 5
_WORDS_IN_STEP: Final = 4

_Said = Sequence[Change | Choice]


def find_evidence(text: str, said: Change | Choice, told: _Said) -> frozenset[str]:
    """Return the features of a value of a message, or none if its words are not found.

    `told` are all values of the message. Each kind of evidence is a feature by itself, and one for
    values that a pattern withheld, for the section of the field, and for the kind of value.
    """
    places = find_places(text, said.words)
    if not places:
        return frozenset()
    value = said.value if isinstance(said, Change) else said.values[0]
    spans = tuple(span for each in told for span in find_places(text, each.words))
    change = Change(pointer=said.pointer, value=value, words=said.words)
    withheld = "withheld" if isinstance(said, Choice) else "kept"
    section = said.pointer.split("/")[1]
    found = {*_of_clause(text, _hide(text, spans), change, places[0]), *_of_message(text, told)}
    return frozenset(
        {
            *found,
            *(f"{each}, {of}" for each in found for of in (withheld, section, _kind_of(value))),
            *(withheld, section, said.pointer),
        }
    )


@lru_cache(maxsize=8)
def _hide(text: str, spans: tuple[Span, ...]) -> str:
    return hide_read(text, spans)


def _kind_of(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return "switch"
    return "number" if isinstance(value, int | float) else "text"


def _of_message(text: str, told: _Said) -> Iterator[str]:
    changes = sum(isinstance(each, Change) for each in told)
    yield f"changes {min(_MOST, changes)}"
    yield f"choices {min(_MOST, len(told) - changes)}"
    yield f"sentences {min(_MOST, len(SENTENCE_END.findall(text)))}"
    if "?" in text:
        yield "asks"
    if "!" in text:
        yield "exclaims"


def _of_clause(text: str, bare: str, change: Change, place: Span) -> Iterator[str]:
    start, end = place
    folded = fold(text)
    first = max(find_begin(bare, start), start - LONGEST_CLAUSE)
    last = CLAUSE_END.search(bare, end, end + LONGEST_CLAUSE)
    stop = last.start() if last else min(len(bare), end + LONGEST_CLAUSE)
    order = f"{bare[first:start]}{folded[start:end]}"
    forms = {
        "requests": begins_as_request(order),
        "commands": COMMANDS.match(text[first:end]) or is_enclitic(order),
        "orders": ORDERS.match(order) or is_ordered(bare, first, change),
        "wishes": WISHES.match(order),
        "repeats": REPEATS.match(order),
        "governed": is_governed(text, change),
        "endorsed": is_endorsed(folded, end),
        "foreign": has_foreign_words(bare, change, text),
        "quoted": any(begin < start < until for begin, until in find_quoted(text)),
        "of people": any(begin < end and start < until for begin, until in find_people(text)),
        "first": first == 0,
        "last": stop >= len(text.rstrip(" .!")),
    }
    yield from (name for name, holds in forms.items() if holds)
    sentence = bare[slice(*find_around(SENTENCE_END, bare, place))]
    yield from (f"sentence {name}" for name in _find_classes(sentence))
    yield from (f"words {name}" for name in _find_classes(folded[start:end]))
    yield from (f"clause {name}" for name in _find_forms(bare[first:stop], text[first:stop]))
    yield from (f"before {name}" for name in _find_forms(bare[:first], text[:first]))
    yield from (f"after {name}" for name in _find_forms(bare[stop:], text[stop:]))
    score = report_score(find_features(bare, place, change.pointer))
    yield f"score {max(-_MOST_OF_SCORE, min(_MOST_OF_SCORE, round(score)))}"
    words = WORD.findall(f"{bare[first:start]} {bare[end:stop]}")
    unknown = sum(not is_known(word, ("thing", "machine")) for word in words)
    yield f"unknown {min(_MOST, unknown)}"
    yield f"length {min(_MOST, len(words) // _WORDS_IN_STEP)}"


@lru_cache(maxsize=64)
def _find_classes(bare: str) -> frozenset[str]:
    return frozenset(name for name, pattern in _CLASSES.items() if pattern.search(bare))


@lru_cache(maxsize=64)
def _find_forms(bare: str, text: str) -> frozenset[str]:
    """Return the classes of words of a part of a message, and the forms of its clauses."""
    forms = {*_find_classes(bare)}
    asking = asking_forms() | SHORT_ORDERS | read_words(("lead",))
    if any(not asking.isdisjoint(bare_forms(word)) for word in WORD.findall(bare)):
        forms.add("asks")
    ends = [0, *(each.end() for each in CLAUSE_END.finditer(bare))]
    for start, stop in zip(ends, [*ends[1:], len(bare)], strict=True):
        part = bare[start:stop]
        if begins_as_request(part):
            forms.add("requests")
        if is_enclitic(part) or COMMANDS.match(text, start, stop):
            forms.add("commands")
        if WISHES.match(part):
            forms.add("wishes")
    return frozenset(forms)
