"""Stems of the words that name each field, in three languages, with their weights."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import log
from typing import Final

from ftc.spec.schema import Field, fields
from ftc.tui.languages.field_names import name_field
from ftc.tui.languages.voice import LANGUAGES
from ftc.tui.understanding.fields.spoken import spoken_words
from ftc.tui.understanding.text.lexicon import WORDS
from ftc.tui.understanding.text.message import fold

#: Endings of words mean little.
_LONGEST: Final = 6
_LETTERS: Final = re.compile(r"[a-z]{2,}")
#: The parts of a pattern other than letters.
_MARKS: Final = re.compile(r"\\.|\(\?[:!=<]*|[^a-z]+")
#: A spoken word has slightly less weight than a word of the field's title.
_SPOKEN: Final = 0.9


def stem(word: str) -> str:
    """Return the first letters of a word, or a mark for a number."""
    return "#" if word[0].isdigit() or word[0] == "\x01" else word[:_LONGEST]


@cache
def field_stems() -> Mapping[str, Mapping[str, float]]:
    """Return the stems of each field's names; stems of few fields have more weight."""
    found = {field.pointer: _stems(field) for field in fields()}
    times = Counter(each for stems in found.values() for each in stems)
    rarity = {each: log(len(found) / count) for each, count in times.items()}
    return {
        pointer: {each: share * rarity[each] for each, share in stems.items()}
        for pointer, stems in found.items()
    }


def _stems(field: Field) -> Mapping[str, float]:
    title = [name_field(field.pointer, language) for language in LANGUAGES]
    names = [field.name.rpartition(".")[2], *title, *field.schema.get("x-aliases", ())]
    said = [*spoken_words().get(field.pointer, ())]
    quantity = WORDS["quantities"].get(field.pointer, {})
    said += [pattern for language in LANGUAGES for pattern in quantity.get(language, ())]
    spoken = (word for text in said for word in _LETTERS.findall(_MARKS.sub(" ", fold(text))))
    named = (word for text in names for word in _LETTERS.findall(fold(text).replace("_", " ")))
    return {stem(word): _SPOKEN for word in spoken} | {stem(word): 1.0 for word in named}


def find_stems(texts: Iterable[str]) -> frozenset[str]:
    """Return the stems of the words of some texts or patterns."""
    said = (word for text in texts for word in _LETTERS.findall(_MARKS.sub(" ", fold(text))))
    return frozenset(map(stem, said))


def find_fit(pointer: str, words: Sequence[str]) -> Iterator[tuple[int, float]]:
    """Yield the place and the weight of each distinct word that names a field."""
    stems = field_stems()[pointer]
    seen: set[str] = set()
    for place, word in enumerate(words):
        if word in stems and word not in seen:
            seen.add(word)
            yield place, stems[word]
