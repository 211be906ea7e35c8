"""The values of fields with fixed sets of values, and the stems of the words for each value."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Any, Final

from ftc.compiler.knowledge.glossary import find_entry
from ftc.spec.schema import Field, branches, choices, fields
from ftc.spec.values.expectation import types_of
from ftc.tui.languages.voice import LANGUAGES, Voice
from ftc.tui.understanding.fields.spoken import value_words
from ftc.tui.understanding.learned.stems import find_stems
from ftc.tui.understanding.text.lexicon import WORDS

#: Fields with their own readers, whose values are not ordinary words or follow from the data.
_OWN: Final = ("/data/format", "/export/types", "/export/vllm", "/model/pickled_weights")
_CODE: Final = re.compile(r"`([^`]+)`")
_PART: Final = re.compile(r"[;,:.]|\bor\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A value of a field, with the weighted stems of its names and of its description."""

    key: str
    field: Field
    value: Any
    stems: Mapping[str, float]
    described: Mapping[str, float]


@cache
def list_options() -> tuple[Option, ...]:
    """Return the values of all fields with a fixed set of values, and of all booleans."""
    found = [(field, value) for field in _fields() for value in _values(field)]
    named = [find_stems(_names(field, value)) for field, value in found]
    told = [find_stems(_descriptions(field, value)) for field, value in found]
    return tuple(
        Option(
            key=f"{field.pointer}={value[0] if isinstance(value, list) else value}",
            field=field,
            value=value,
            stems=stems,
            described=described,
        )
        for (field, value), stems, described in zip(
            found, _weighted(named), _weighted(told), strict=True
        )
    )


def _fields() -> Iterator[Field]:
    for field in fields():
        if field.pointer.count("/") > 1 and not field.pointer.startswith(_OWN):
            yield field


def _values(field: Field) -> Iterator[Any]:
    """Yield the values of a field; an item of a list is a list of its own."""
    yield from choices(field.schema)
    for branch in branches(field.schema):
        if "boolean" in types_of(branch):
            yield from (True, False)
        for item in branches(branch.get("items", {})):
            yield from ([value] for value in item.get("enum", ()))


def _names(field: Field, value: Any) -> Sequence[str]:
    """Return the texts that name a value: its own text, and what people say for it."""
    own = value[0] if isinstance(value, list) else value
    if isinstance(own, bool):
        return ()
    said = [str(own), *value_words().get(field.pointer, {}).get(str(own), "").split("|")]
    said += [
        words
        for entry in WORDS["values"]
        if (entry["pointer"], entry["value"]) == (field.pointer, own)
        for language in LANGUAGES
        for words in entry.get(language, ())
    ]
    return [*said, *(Voice(language=each).label(field.pointer, str(own)) for each in LANGUAGES)]


def _descriptions(field: Field, value: Any) -> Sequence[str]:
    """Return the texts that explain a value: parts of the schema's text, and the glossary's."""
    own = str(value[0] if isinstance(value, list) else value)
    entry = None if isinstance(value, bool) else find_entry(own)
    texts = [] if entry is None else [entry.text[language] for language in LANGUAGES]
    sentences = re.split(r"(?<=[.;:]) ", str(field.schema.get("description", "")))
    return [*texts, *(each for each in sentences if own in _CODE.findall(each))]


def _weighted(named: Sequence[frozenset[str]]) -> Iterator[Mapping[str, float]]:
    """Yield the stems with their weights; a stem that few values share weighs more."""
    times = Counter(stem for stems in named for stem in stems)
    for stems in named:
        yield {each: log(len(named) / times[each]) for each in sorted(stems)}
