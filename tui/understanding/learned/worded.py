"""Values of fields with a fixed set of them, each linked to the clause that is likeliest to set it.

"The optimiser that stores one state per row" names no value. The words of a clause, and how well
they name a field and a value, are the features of a linear model, which gives each value a
probability. A clause that only tells something gets none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

from ftc.tui.understanding.learned.linear import NONE, Fit, read_model
from ftc.tui.understanding.learned.options import Option, list_options
from ftc.tui.understanding.learned.stems import field_stems, stem
from ftc.tui.understanding.lexicon import NEGATORS
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.reading import value_at
from ftc.tui.understanding.spoken import applies

_CLAUSE: Final = re.compile(
    r"(?:(?!\.(?=\s|$)|\s[-\u2013\u2014/|+]+\s|\b(?:and|i|y|e|but|pero)\b)[^,;:!?\n()])+"
)
_TOKEN: Final = re.compile(r"[a-z]+(?:'[a-z]+)?\d*|\d[\w.]*|[+]")
#: The most clauses of a message that are looked at, and the letters of one.
_MOST: Final = 24
_LONGEST: Final = 240
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a message, its features, and how well each value fits it."""

    start: int
    end: int
    words: Sequence[tuple[str, int, int]]
    features: Sequence[str]
    fits: Mapping[str, Fit]

    def weigh(self) -> Mapping[str, float]:
        """Return the probability of each value, and that the clause sets none."""
        return read_model("values").weigh(self.features, self.fits)


def find_clauses(message: Message, draft: Mapping[str, Any]) -> Sequence[Clause]:
    """Return the parts of a message, those that were read too."""
    text = message.plain
    spans = [match.span() for match in _CLAUSE.finditer(text) if match[0].strip()][:_MOST]
    if not spans:
        return []
    may = {each.pointer: applies(each, message, draft) for each in _option_fields()}
    options = [each for each in list_options() if may[each.field.pointer] is not False]
    now = {each.field.pointer: value_at(draft, each.field.pointer) for each in options}
    parts = [_words(text, *span) for span in spans]
    return [
        _make(parts, at, options, now, message)
        for at, span in enumerate(spans)
        if parts[at]
    ]


@cache
def _option_fields():
    return tuple({each.field.pointer: each.field for each in list_options()}.values())


def _words(text: str, start: int, end: int) -> list[tuple[str, int, int]]:
    end = min(end, start + _LONGEST)
    return [(stem(match[0]), *match.span()) for match in _TOKEN.finditer(text, start, end)]


def _make(parts, at, options, now, message) -> Clause:
    words = parts[at]
    said = [word for word, *_ in words]
    before = [word for part in parts[max(0, at - 1) : at] for word, *_ in part]
    after = [word for part in parts[at + 1 : at + 2] for word, *_ in part]
    start, end = words[0][1], words[-1][2]
    denied = NEGATORS.search(message.plain, start, end) is not None
    asks = message.plain[end : end + 2].strip().startswith("?")
    features = ["bias", *sorted(set(said))]
    features += sorted({f"{one} {other}" for one, other in pairwise(("^", *said, "$"))})
    features += [f"n:{w}" for w in sorted({*before,*after}-set(said))]
    features += ["denied"] if denied else []
    features += ["asks"] if asks else []
    features += ["alone"] if len(parts) == 1 else []
    distinct = set(said)
    around = {*before, *after} - distinct
    named = {
        pointer: (sum(stems[w] for w in distinct if w in stems), sum(stems[w] for w in around if w in stems))
        for pointer, stems in field_stems().items()
    }
    fits = {}
    for option in options:
        fits[option.key] = _fit(option, distinct, around, named, denied, now)
    return Clause(start=start, end=end, words=words, features=features, fits=fits)


def _fit(option: Option, words, around, named, denied, now) -> dict[str, float]:
    name, near = named[option.field.pointer]
    value = max((option.stems[w] for w in words if w in option.stems), default=0.0)
    values = sum(option.stems[w] for w in words if w in option.stems)
    described = sum(option.described[w] for w in words if w in option.described)
    fit: dict[str, float] = {}
    if name:
        fit["name"] = name
    if near:
        fit["name near"] = near
    if value:
        fit["value"] = value
        fit["values"] = values
        if name:
            fit["both"] = 1.0
        elif near:
            fit["both near"] = 1.0
    if described:
        fit["described"] = described
        if name or near:
            fit["described and named"] = described
    switch = isinstance(option.value, bool)
    if switch:
        fit[f"switch {option.value}"] = 1.0
        fit[f"switch {option.value} {'denied' if denied else 'said'}"] = 1.0
        if name:
            fit[f"named {option.value} {'denied' if denied else 'said'}"] = 1.0
    elif denied:
        fit["denied"] = 1.0
        if value:
            fit["denied value"] = 1.0
        if name:
            off = str(option.value) in ("none", "off")
            fit["off" if off else "not off"] = 1.0
    own = now[option.field.pointer]
    if own == option.value:
        fit["is so"] = 1.0
    return fit
