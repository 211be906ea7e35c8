"""The names of all fields in one table, from the schema and the assistant's translations.

A field has its dotted name, its own name, its title in three languages, and the names that other
tools give it (`x-aliases`). A section lends its names to the field that its short form sets.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from ftc.spec.schema import Field, branches, fields
from ftc.spec.tools.tables import find_target, read_table
from ftc.spec.values.expectation import types_of
from ftc.tui.languages.field_names import name_field
from ftc.tui.languages.voice import LANGUAGES
from ftc.tui.understanding.fields.shorthand import ACCUMULATION, read_shorthand
from ftc.tui.understanding.text.message import Message, fold

_SEPARATORS: Final = re.compile(r"[ _-]+")
_COLUMNS: Final = "/data/columns/"
_SHORT: Final = "x-short"
#: A width of the model, and not of the teacher.
_OTHER: Final = ("@bits4",)
#: The ranks of a name: the lower, the more certain.
DOTTED, OWN, TITLE, ALIAS = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A field with one of its names."""

    field: Field
    rank: int


def normalise(name: str) -> str:
    """Return a folded name with one space in place of each run of separators."""
    return _SEPARATORS.sub(" ", fold(name)).strip()


@cache
def field_index() -> Mapping[str, Sequence[Name]]:
    """Return the fields that have each name; every name is normalised."""
    found: dict[str, dict[str, Name]] = {}
    for name, field, rank in _named():
        own = found.setdefault(normalise(name), {})
        if field.pointer not in own or own[field.pointer].rank > rank:
            own[field.pointer] = Name(field=field, rank=rank)
    return {name: tuple(kept.values()) for name, kept in found.items()}


def kinds_of(field: Field) -> frozenset[str]:
    """Return the types of the values of a field."""
    return frozenset(kind for branch in branches(field.schema) for kind in types_of(branch))


def _named() -> Iterator[tuple[str, Field, int]]:
    sections: dict[str, Field] = {}
    for field in fields():
        kinds = kinds_of(field)
        if "object" in kinds or field.pointer.count("/") == 1:
            sections[field.pointer] = field
            continue
        yield field.name, field, DOTTED
        yield from ((title, field, TITLE) for title in _titles(field))
        if not field.pointer.startswith(_COLUMNS):
            yield field.name.rpartition(".")[2], field, OWN
            yield from ((alias, field, ALIAS) for alias in _aliases(field))
        section = sections.get(field.pointer.rpartition("/")[0])
        if section is not None and field.name.rpartition(".")[2] == section.schema.get(_SHORT):
            yield section.name, field, OWN
            yield from ((alias, field, ALIAS) for alias in _aliases(section))


def _titles(field: Field) -> Iterator[str]:
    for language in LANGUAGES:
        yield name_field(field.pointer, language)


def _aliases(field: Field) -> Iterator[str]:
    """Yield the names with the field's own meaning: a count of accumulated steps is not a batch."""
    for alias in field.schema.get("x-aliases", ()):
        target = find_target(read_table(""), alias)
        other = target.startswith("/") and not field.pointer.startswith(target)
        if not other and target not in _OTHER and not _accumulates(alias):
            yield alias


def _accumulates(name: str) -> bool:
    return any(each.pointer == ACCUMULATION for each in read_shorthand(Message(f"{name}=2")))
