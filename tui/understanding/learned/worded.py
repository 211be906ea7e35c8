"""Links clauses to the values of fields with a fixed set of values.

"The optimiser that stores one state per row" names no value. The words of a clause, and how well
they name a field and a value, are the features of a linear model, which gives each value a
probability. A clause that only reports something gets no value.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

from ftc.spec.schema import Field
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.learned.linear import Fit, read_model
from ftc.tui.understanding.learned.options import Option, list_options
from ftc.tui.understanding.learned.stems import field_stems, stem
from ftc.tui.understanding.reading import value_at
from ftc.tui.understanding.text.lexicon import NEGATORS
from ftc.tui.understanding.text.message import Message

_CLAUSE: Final = re.compile(
    r"(?:(?!\.(?=\s|$)|\s[-\u2013\u2014/|+]+\s|\b(?:and|i|y|e|but|pero)\b)[^,;:!?\n()])+"
)
_TOKEN: Final = re.compile(r"[a-z]+(?:'[a-z]+)?\d*|\d[\w.]*|[+]")
#: The maximum number of clauses of a message, and of characters in a clause, that are read.
_MOST: Final = 24
_LONGEST: Final = 240
_OFF: Final = frozenset({"none", "off"})
_NO_FIT: Final[Fit] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a message: its words with their places, its features, and the fit of values."""

    start: int
    end: int
    words: Sequence[tuple[str, int, int]]
    features: Sequence[str]
    fits: Mapping[str, Fit]

    def weigh(self) -> Mapping[str, float]:
        """Return the probability of each value, and of no value."""
        return read_model("values").weigh(self.features, self.fits)


def find_clauses(message: Message, draft: Mapping[str, Any]) -> Sequence[Clause]:
    """Return the clauses of a message, including those that a pattern has read."""
    text = message.plain
    spans = [match.span() for match in _CLAUSE.finditer(text) if match[0].strip()]
    parts = [part for part in (_words(text, *span) for span in spans[:_MOST]) if part]
    if not parts:
        return []
    may = {each.pointer: applies(each, message, draft) for each in _option_fields()}
    options = [each for each in list_options() if may[each.field.pointer] is not False]
    now = {pointer: value_at(draft, pointer) for pointer in may}
    return [_make(text, parts, at, options, now) for at in range(len(parts))]


def find_option(key: str) -> Option:
    """Return the value with a key."""
    return _by_key()[key]


def list_keys() -> tuple[str, ...]:
    """Return the keys of all values."""
    return tuple(_by_key())


def tell(word: str, key: str) -> float:
    """Return the weight with which a word indicates a value."""
    model = read_model("values")
    option = find_option(key)
    weight = dict(model.weights_of(word)).get(key, 0.0)
    weight += model.fits["value"] * option.stems.get(word, 0.0)
    weight += model.fits["described"] * option.described.get(word, 0.0)
    return weight + model.fits["name"] * field_stems()[option.field.pointer].get(word, 0.0)


@cache
def _by_key() -> Mapping[str, Option]:
    return {each.key: each for each in list_options()}


@cache
def _option_fields() -> tuple[Field, ...]:
    return tuple({each.field.pointer: each.field for each in list_options()}.values())


@cache
def _named_by() -> Mapping[str, Sequence[tuple[str, float]]]:
    """Return the fields that each stem names, with their weights."""
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for each in _option_fields():
        for word, weight in field_stems()[each.pointer].items():
            found[word].append((each.pointer, weight))
    return found


def _words(text: str, start: int, end: int) -> list[tuple[str, int, int]]:
    end = min(end, start + _LONGEST)
    return [(stem(match[0]), *match.span()) for match in _TOKEN.finditer(text, start, end)]


def _make(
    text: str,
    parts: Sequence[Sequence[tuple[str, int, int]]],
    at: int,
    options: Sequence[Option],
    now: Mapping[str, Any],
) -> Clause:
    words = parts[at]
    said = [word for word, *_ in words]
    start, end = words[0][1], words[-1][2]
    distinct = set(said)
    beside = (*parts[max(0, at - 1) : at], *parts[at + 1 : at + 2])
    around = {word for part in beside for word, *_ in part} - distinct
    denied = NEGATORS.search(text, start, end) is not None
    fits = _find_fits(options, distinct, around, now, denied=denied)
    features = _list_features(said, around)
    features += [
        name
        for name, is_so in (
            ("denied", denied),
            ("asks", text[end : end + 2].strip().startswith("?")),
            ("alone", len(parts) == 1),
        )
        if is_so
    ]
    return Clause(start=start, end=end, words=words, features=features, fits=fits)


def _list_features(said: Sequence[str], around: set[str]) -> list[str]:
    """Return the features of a clause: its words, its pairs of words, and the words beside it."""
    pairs = {f"{one} {other}" for one, other in pairwise(("^", *said, "$"))}
    return ["bias", *sorted(set(said)), *sorted(pairs), *(f"n:{each}" for each in sorted(around))]


def _find_fits(
    options: Sequence[Option],
    words: set[str],
    around: set[str],
    now: Mapping[str, Any],
    *,
    denied: bool,
) -> Mapping[str, Fit]:
    """Return the measures of how well the words in and around a clause name each value."""
    name, near = _sum_names(words), _sum_names(around)
    fits = {}
    for option in options:
        pointer = option.field.pointer
        values = [option.stems[word] for word in words & option.stems.keys()]
        described = sum(option.described[word] for word in words & option.described.keys())
        if not (values or described or pointer in name):
            fits[option.key] = _NO_FIT
            continue
        is_so = now[pointer] == option.value
        named = (name.get(pointer, 0.0), near.get(pointer, 0.0))
        fit = dict(_fit(option, named, values, described, denied=denied))
        fits[option.key] = fit | {"is so": 1.0} if is_so else fit
    return fits


def _sum_names(words: set[str]) -> Mapping[str, float]:
    sums: dict[str, float] = defaultdict(float)
    for word in sorted(words & _named_by().keys()):
        for pointer, weight in _named_by()[word]:
            sums[pointer] += weight
    return sums


def _fit(
    option: Option,
    named: tuple[float, float],
    values: Sequence[float],
    described: float,
    *,
    denied: bool,
) -> Iterator[tuple[str, float]]:
    """Yield the measures of how well a clause fits a value."""
    name, near = named
    yield from ((part, value) for part, value in (("name", name), ("name near", near)) if value)
    if values:
        yield "value", max(values)
        yield "values", sum(values)
        yield from (("both", 1.0),) if name else (("both near", 1.0),) if near else ()
    if described:
        yield "described", described
        yield from (("described and named", described),) if name or near else ()
    if isinstance(option.value, bool):
        yield f"switch {option.value} {'denied' if denied else 'said'}", 1.0
        if name:
            yield f"named {option.value} {'denied' if denied else 'said'}", 1.0
    elif denied:
        yield "denied", 1.0
        yield from (("denied value", 1.0),) if values else ()
        if name:
            yield ("off" if str(option.value) in _OFF else "not off"), 1.0
