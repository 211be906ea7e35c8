"""Links each number that no pattern took to the most likely field in its sentence.

The words around a number, its size and how it is written are the features of a linear model, which
gives each field of numbers a probability. A number that is only reported gets no field.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from math import floor, log10
from typing import Any, Final

from ftc.spec.schema import Field, branches, fields
from ftc.spec.values.admission import admits
from ftc.spec.values.expectation import types_of
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.learned.linear import NONE, Fit, read_model
from ftc.tui.understanding.learned.stems import find_fit, stem
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.message import Message, Span, find_places
from ftc.tui.understanding.text.numbers import as_written, read_number

#: The minimum probability of a field for a number to be set, chosen on held-out messages.
SURELY_LINKED: Final = 0.8
_NUMBER: Final = re.compile(
    r"(?<![\w.,/-])(?P<number>(?:\d+(?:[.,]\d+)*|\.\d+)(?:e[-+]?\d+)?)"
    r"(?:\s?(?P<suffix>[km])(?!\w))?(?P<percent>\s?%)?(?![\w/]|[.,]\d)"
)
_TOKEN: Final = re.compile(r"\x01|[a-z]+(?:[_'][a-z]+)*\d*|\d[\w.]*|[^\sa-z0-9\x01]")
_SENTENCE: Final = frozenset(".;!?\n")
_BEFORE: Final = 7
_AFTER: Final = 5
_FARTHEST: Final = 3
#: The number of characters on each side of a number that are used, and the maximum number of
#: numbers in a message.
_LETTERS: Final = 160
_MOST: Final = 24
#: Fields that count tokens, for which "2k" is 2048.
_TOKENS: Final = frozenset({"/data/max_length", "/objective/answer_tokens"})
_VERSION: Final = "/ftc"
#: A field that admits this number is a count and takes no percentage.
_MANY: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number in a message, its features, and how well each possible field fits it."""

    start: int
    end: int
    features: Sequence[str]
    values: Mapping[str, int | float]
    fits: Mapping[str, Fit]

    def weigh(self) -> Mapping[str, float]:
        """Return the probability of each field, and of no field."""
        return read_model("numbers").weigh(self.features, self.fits)


#: The weight of a file or label: "a.jsonl weight 0.7".
_WEIGHS: Final = re.compile(r"(?i)(?:^|\s)(?:weight|peso|pes)\s+[\d.,]+$")
#: Units whose numbers belong only to fields with a matching name.
_UNITS: Final[Mapping[str, re.Pattern[str]]] = {
    "hours": re.compile(r"\s?(?:hours?|hrs?|h|horas?|hores|hora)\b"),
    "seconds": re.compile(r"\s?(?:seconds?|secs?|segons?|segundos?)\b"),
    "days": re.compile(
        r"\s?(?:days?|dies|dias?|weeks?|setmanes|semanas?|minutes?|mins?|minuts?|minutos?)\b"
    ),
    "gib": re.compile(r"\s?(?:[gt]i?b|gigas?|gigues|teras?)\b"),
}
_DECAY: Final = "/training/weight_decay"


def read_linked(
    message: Message, asked: str, said: Sequence[Change | Choice], draft: Mapping[str, Any]
) -> Iterator[Change]:
    """Yield the field of each number that `said` does not contain, the most certain first.

    `asked` is the folded message before its fields were read: words crossed out in it request
    nothing. Each field is yielded once.
    """
    taken = [span for each in said for span in find_places(message.written, each.words)]
    weighed = [
        (share, number, pointer)
        for number in find_numbers(message, draft)
        if "\x00" not in asked[number.start : number.end]
        and not _is_taken(message, number, taken)
        and not message.denied(number.start, number.end)
        and not message.replaced(number.start, number.end)
        for pointer, share in number.weigh().items()
        if _has_unit_of(message, number, pointer)
        if pointer != NONE and share > SURELY_LINKED
        if not (pointer == _DECAY and _WEIGHS.search(message.words(number.start, number.end)))
        if not ("percent" in number.features and admits(pointer, _MANY))
    ]
    has: set[str] = set()
    for _, number, pointer in sorted(weighed, key=lambda each: -each[0]):
        if pointer not in has:
            has.add(pointer)
            words = message.words(number.start, number.end)
            message.cross_out(number.start, number.end)
            yield Change(pointer=pointer, value=number.values[pointer], words=words)


def _has_unit_of(message: Message, number: Number, pointer: str) -> bool:
    """Return whether no unit follows a number, or a unit of the field: "2 hours"."""
    units = (each for each, pattern in _UNITS.items() if pattern.match(message.plain, number.end))
    unit = next(units, None)
    return unit is None or pointer.endswith(unit)


def add_linked(
    told: Sequence[Change | Choice], linked: Sequence[Change | Choice]
) -> list[Change | Choice]:
    """Return the values, with the linked numbers of fields that the patterns did not set."""
    has = {each.pointer for each in told if isinstance(each, Change)}
    added = [each for each in linked if each.pointer not in has]
    asked = {each.pointer for each in added}
    return [*(each for each in told if each.pointer not in asked), *added]


def _is_taken(message: Message, number: Number, taken: Sequence[Span]) -> bool:
    first, last = message.origin[number.start][0], message.origin[number.end - 1][1]
    return any(start < last and first < end for start, end in taken)


def find_numbers(message: Message, draft: Mapping[str, Any]) -> Sequence[Number]:
    """Return the numbers of a message, including those already read."""
    text = message.plain
    matches = list(islice(_NUMBER.finditer(text), _MOST))
    may = {each.pointer: applies(each, message, draft) for each in numeric()} if matches else {}
    found = [_make(text, match, may) for match in matches]
    return [each for each in found if each is not None]


def _make(text: str, match: re.Match[str], may: Mapping[str, bool | None]) -> Number | None:
    number = read_number(match["number"])
    if number is None:
        return None
    before = _within(
        _words(text[max(0, match.start() - _LETTERS) : match.start()])[-_BEFORE:][::-1]
    )
    after = _within(_words(text[match.end() : match.end() + _LETTERS])[:_AFTER])
    values, fits = {}, {}
    for pointer, applied in may.items():
        value = _amount(number, match, pointer)
        if applied is not False and admits(pointer, value):
            values[pointer] = value
            fits[pointer] = _fit(pointer, before, after) | ({"applies": 1.0} if applied else {})
    return Number(
        start=match.start(),
        end=match.end(),
        features=[*_beside(before, "before"), *_beside(after, "after"), *_form(number, match)],
        values=values,
        fits=fits,
    )


@cache
def numeric() -> tuple[Field, ...]:
    """Return the fields that take a number."""
    return tuple(
        field
        for field in fields()
        if field.pointer != _VERSION
        and not {"integer", "number"}.isdisjoint(
            kind for branch in branches(field.schema) for kind in types_of(branch)
        )
    )


def _amount(number: float, match: re.Match[str], pointer: str) -> int | float:
    thousand = 1024 if pointer in _TOKENS else 1000
    factor = {"k": thousand, "m": 1_000_000}.get(match["suffix"] or "", 1)
    value = number * factor
    return as_written(round(value / 100, 8) if match["percent"] else value)


def _words(text: str) -> list[str]:
    """Return the stems of words, with a mark for each number."""
    return [stem(token) for token in _TOKEN.findall(_NUMBER.sub(" \x01 ", text))]


def _within(words: Sequence[str]) -> Sequence[str]:
    """Return the words up to the end of the sentence."""
    ends = (place for place, word in enumerate(words) if word in _SENTENCE)
    return words[: next(ends, len(words))]


def _near(words: Sequence[str]) -> int:
    """Return the number of words before the next number or comma."""
    return next((place for place, word in enumerate(words) if word in "#,"), len(words))


def _beside(words: Sequence[str], side: str) -> Iterator[str]:
    """Yield the features of the words on one side of a number, the nearest first."""
    near = _near(words)
    yield f"{side} 1:{words[0] if words else '$'}"
    if len(words) > 1:
        yield f"{side} 2:{words[1]}"
        yield f"{side} 12:{words[0]} {words[1]}"
    for place, word in enumerate(words):
        if len(word) > 1:
            yield f"{side}:{word}"
            if place < near:
                yield f"{side} near:{word}"


def _form(number: float, match: re.Match[str]) -> Iterator[str]:
    """Yield the features of a number itself."""
    yield "bias"
    yield f"size:{floor(log10(number)) if number > 0 else 'zero'}"
    yield f"value:{number:g}"
    whole = number == int(number)
    yield "whole" if whole else "fraction"
    if whole and number > 0 and int(number) & (int(number) - 1) == 0:
        yield "power of two"
    if match["percent"]:
        yield "percent"
    if match["suffix"]:
        yield f"suffix:{match['suffix']}"
    if "e-" in match["number"]:
        yield "exponent"


def _fit(pointer: str, before: Sequence[str], after: Sequence[str]) -> dict[str, float]:
    """Return the measures of how well the words around a number name a field."""
    fit: dict[str, float] = {}
    for side, words in (("before", before), ("after", after)):
        near = _near(words)
        found = list(find_fit(pointer, words))
        for place, weight in found:
            part = f"{'near' if place < near else 'far'} {side}"
            fit[part] = fit.get(part, 0.0) + weight
        if found and found[0][0] < near:
            fit[f"{side} at {min(found[0][0], _FARTHEST)}"] = 1.0
    return fit
