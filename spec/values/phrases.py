"""Texts that give several fields of a section: `zero3 with CPU offload`, `lora, rank 16`."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ftc.spec.schema import Schema, branches
from ftc.spec.values.expectation import words_of
from ftc.spec.values.nearest import find_alike, plain
from ftc.spec.values.quantity import read_quantity
from ftc.spec.values.synonyms import find_synonym, find_word, switches_on
from ftc.spec.values.verdict import is_valid

_SAID: Final = re.compile(r"[^\s,;:=+&()/]+")
_INSIDE: Final = re.compile(r"[-_]+")
_WITHOUT: Final = frozenset({"no", "without", "not", "sin", "sense"})
_BETWEEN: Final = frozenset({"of", "to", "on", "in", "at", "is", "with", "the", "a"})
#: Words before a name with which it is another quantity.
_BOUNDS: Final = frozenset(
    {"min", "max", "minimum", "maximum", "least", "most", "final", "initial"}
)
_MOST_WORDS: Final = 3  # of a name or a value
#: Words that leave a field open say nothing about it beside other fields.
_OPEN: Final = frozenset({"auto", "none"})


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Some words of the text, from `start` to before `end`."""

    words: tuple[str, ...]
    start: int
    end: int

    @property
    def name(self) -> str:
        return "_".join(self.words[self.start : self.end])


def split_words(text: str) -> list[str]:
    """Return the words of a text; hyphens belong to them."""
    return _SAID.findall(text)


def find_word_in(text: str, words: Collection[str]) -> str | None:
    """Return the word that is one of several in a text, or None."""
    parts = split_words(text)
    found = (find_alike(part, words) for part in parts if len(parts) > 1)
    return next((word for word in found if word is not None), None)


def find_others(text: str, own: Schema, others: Mapping[str, Schema]) -> Mapping[str, Any] | None:
    """Return the values that a text gives to other fields of its section.

    A field is named, with its value behind or before the name, or one of its words is there. A word
    of the text's `own` field means that one. None if a field gets two values.
    """
    found: dict[str, Any] = {}
    words = tuple(_split(text, others))
    for name, schema in others.items():
        values = {str(value): value for value in _values(words, name, schema, own)}
        if len(values) > 1:
            return None
        for value in values.values():
            found[name] = value
    return found


def _split(text: str, others: Mapping[str, Schema]) -> Iterator[str]:
    """Yield the words of a text; one with hyphens that no field has is several."""
    for said in split_words(text):
        known = any(
            plain(said) in _names(name, schema) or _word(said, schema) is not None
            for name, schema in others.items()
        )
        is_whole = known or read_quantity(said) is not None
        yield from [said] if is_whole else filter(None, _INSIDE.split(said))


def _values(words: tuple[str, ...], name: str, schema: Schema, own: Schema) -> Iterator[Any]:
    """Yield a field's values in the words; no word belongs to two phrases."""
    names, used = _names(name, schema), set[int]()
    for length in range(_MOST_WORDS, 0, -1):
        for start in range(len(words) - length + 1):
            phrase = _Phrase(words, start, start + length)
            places = {*range(start, start + length)}
            if places & used or find_word(phrase.name, own) is not None:
                continue
            value = _word(phrase.name, schema)
            if value is None and plain(phrase.name) in names:
                value = _named(phrase, schema)
            if value is not None:
                used |= places
                yield value


def _names(name: str, schema: Schema) -> set[str]:
    return {plain(each) for each in (name, *schema.get("x-aliases", ()))}


def _word(said: str, schema: Schema) -> Any:
    """Return the word of the field that a phrase is, unless the phrase says no more than "on"."""
    if not any(map(str.isalpha, said)) or switches_on(said, schema):
        return None
    meant = find_alike(said, words_of(schema)) or find_synonym(said, schema)
    return None if meant in _OPEN else meant


def _named(phrase: _Phrase, schema: Schema) -> Any:
    """Return the value of a field that is named: off, the one beside the name, or on."""
    before, after = phrase.words[: phrase.start], phrase.words[phrase.end :]
    last = before[-1].casefold() if before else ""
    if last in _WITHOUT:
        return _switch(schema, on=False)
    if last in _BOUNDS:
        return None
    for said in (_first(after), _first(before[::-1])):
        value = None if said is None else _value(said, schema)
        if value is not None:
            return value
    return _switch(schema, on=True)


def _first(words: Sequence[str]) -> str | None:
    return next((word for word in words if word.casefold() not in _BETWEEN), None)


def _value(said: str, schema: Schema) -> Any:
    """Return the number or the word that one word of the text is, or None."""
    number = read_quantity(said, kilo=schema.get("x-kilo", 1000))
    if number is not None and is_valid(number, schema):
        return number
    return find_alike(said, words_of(schema)) or find_word(said, schema)


def _switch(schema: Schema, *, on: bool) -> Any:
    """Return the value that turns a field on or off, or None if it has none."""
    if any(branch.get("type") == "boolean" for branch in branches(schema)):
        return on
    return find_synonym(on, schema)
