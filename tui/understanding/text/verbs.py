"""The request forms of verbs: imperatives, subjunctives, infinitives, from `verbs.json`.

"Borra", "no borres", "que no borren" and "borrar" are one verb. Past forms and the first person of
the present are left out, since "borré" and "uso" report. A verb may be followed by its other stem
("probar:prueb"); ":e" marks a Catalan verb with "-eix-", and ":-" a verb with only a regular
infinitive.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from ftc.tui.understanding.text.message import fold
from ftc.tui.understanding.text.word_tables import word_table

_CATALAN: Final = ("a", "i", "is", "in", "eu", "em", "ar", "ant", "arem", "ariem")
_CATALAN_EIX: Final = ("eix", "eixi", "eixis", "eixin", "iu", "im", "ir", "irem")
_SPANISH: Final = {
    "ar": ("a", "e", "es", "en", "emos", "ad", "ar", "ando", "aremos", "ariamos"),
    "er": ("e", "a", "as", "an", "amos", "ed", "er", "iendo", "eremos", "eriamos"),
    "ir": ("e", "a", "as", "an", "amos", "id", "ir", "iendo", "iremos", "iriamos"),
}
#: Short verbs double their last letter: "dropping".
_DOUBLED: Final = re.compile(r"[a-z]?[^aeiou]?[^aeiou][aeiou][^aeiouwxy]")
#: The spelling of the stem of a verb in "-ar" before "e" and "i".
_SOFT: Final = (("\u00e7", "c"), ("c", "qu"), ("g", "gu"), ("z", "c"))


@cache
def asking_forms() -> frozenset[str]:
    """Return the folded request forms of verbs in the three languages."""
    gerunds = map(_gerund, english_verbs())
    return frozenset(
        {
            *_forms(word_table("verbs")),
            *gerunds,
            *map(fold, word_table("verbs")["irregular"].split()),
        }
    )


@cache
def quiet_forms() -> frozenset[str]:
    """Return the forms of verbs that do not make the rest a request: "stop suggesting it"."""
    return frozenset(_forms(word_table("verbs")["quiet"]))


@cache
def english_verbs() -> frozenset[str]:
    """Return the plain forms of the English verbs."""
    return frozenset(word_table("verbs")["en"].split())


def _forms(table: Mapping[str, str]) -> Iterator[str]:
    yield from table["en"].split()
    for entry in table["ca"].split():
        yield from map(fold, _catalan(entry))
    for entry in table["es"].split():
        yield from map(fold, _spanish(entry))


def _gerund(verb: str) -> str:
    doubled = _DOUBLED.fullmatch(verb) is not None
    return f"{verb}{verb[-1]}ing" if doubled else f"{verb.removesuffix('e')}ing"


def _catalan(entry: str) -> Iterator[str]:
    verb, _, kind = entry.partition(":")
    yield verb
    if kind == "e":
        yield from (f"{verb[:-2]}{ending}" for ending in _CATALAN_EIX)
    elif not kind:
        yield from _spelt(verb[:-2], _CATALAN)


def _spanish(entry: str) -> Iterator[str]:
    verb, _, other = entry.partition(":")
    yield verb
    stem, endings = verb[:-2], _SPANISH[verb[-2:]]
    if other != "-":
        yield from _spelt(other or stem, endings[:4])
        yield from _spelt(stem, endings[4:])


def _spelt(stem: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield the forms of a stem, with the spelling that keeps its sound."""
    for ending in endings:
        pair = next((each for each in _SOFT if stem.endswith(each[0])), None)
        if pair is None or ending[0] not in "ei" or "a" not in endings[0]:
            yield f"{stem}{ending}"
        else:
            yield f"{stem.removesuffix(pair[0])}{pair[1]}{ending}"
