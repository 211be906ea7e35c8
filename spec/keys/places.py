"""The places of a key in a spec: the fields that its name may mean, and the one that counts it."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from ftc.spec.keys.moving import Meant
from ftc.spec.pointer import parent, split
from ftc.spec.schema import Schema, fields, fields_by_pointer, read_unsupported
from ftc.spec.values.nearest import plain
from ftc.spec.values.repair import find_counted_item

#: Letters of the beginning of a word that stands for it.
_SHORTEST: Final = 2


def find_places(key: str) -> tuple[str, ...]:
    """Return the pointers of the fields that a name or its abbreviation may mean."""
    name = key.casefold().replace("-", "_")
    return _everywhere().get(name) or _abbreviated().get(name, ())


def is_compound(key: str) -> bool:
    """Return whether a name has several words: it is no everyday word, so it means one field."""
    return "_" in key.replace("-", "_")


def find_conditional(field: Schema, section: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names that a field has under conditions that its section meets.

    `x-aliases-when` has the values of other fields for each: `lambda` is `beta` in `orpo` alone.
    """
    return tuple(
        name
        for name, when in field.get("x-aliases-when", {}).items()
        if all(section.get(other) in values for other, values in when.items())
    )


@cache
def _abbreviated() -> Mapping[str, tuple[str, ...]]:
    """Return the field that the initials of its name may mean, where it is the only one."""
    found: dict[str, set[str]] = {}
    for name, pointers in _everywhere().items():
        words = name.split("_")
        if len(words) > 1 and all(words):
            short = "".join(word[0] for word in words)
            found.setdefault(short, set()).update(pointers)
    return {short: tuple(sorted(places)) for short, places in found.items() if len(places) == 1}


def find_shortened(key: str) -> str | None:
    """Return the only field that a name of shortened words may mean: `seqlen`, `ep`, or None.

    The words are the last ones of the field's name, or all of them.
    """
    written = plain(key)
    if len(written) < _SHORTEST or not written.isalpha():
        return None
    found: set[str] = set()
    for name, pointers in _everywhere().items():
        words = name.split("_")
        if any(_is_shortened(written, words[first:]) for first in range(len(words))):
            found.update(pointers)
    return found.pop() if len(found) == 1 else None


def _is_shortened(written: str, words: list[str]) -> bool:
    """Return whether a text is the beginnings of all these words, of two letters or more each."""
    if not words:
        return not written
    first, *rest = words
    same = 0
    while same < min(len(written), len(first)) and written[same] == first[same]:
        same += 1
    return any(_is_shortened(written[end:], rest) for end in range(_SHORTEST, same + 1))


@cache
def _everywhere() -> Mapping[str, tuple[str, ...]]:
    """Return the fields that each name, alias or unsupported name may mean."""
    found: dict[str, list[str]] = {}
    for field in fields():
        for name in (field.name.rpartition(".")[2], *field.schema.get("x-aliases", ())):
            found.setdefault(name, []).append(field.pointer)
    for pointer in read_unsupported()["keys"]:
        found.setdefault(split(pointer)[-1], []).append(pointer)
    return {name: tuple(dict.fromkeys(pointers)) for name, pointers in found.items()}


def list_unsupported(pointer: str) -> list[str]:
    """Return the names of the fields of a section that ftc lacks."""
    return [split(key)[-1] for key in read_unsupported()["keys"] if parent(key) == pointer]


def find_by_count(key: str, section: Mapping[str, Any], pointer: str) -> Meant | None:
    """Find the section's own field whose value is the key, with their number: `{"A100": 2}`."""
    whole = fields_by_pointer().get(pointer)
    name = whole.schema.get("x-short") if whole is not None else None
    if name is None or name in section:
        return None
    place = f"{pointer}/{name}"
    found = find_counted_item(key, section[key], fields_by_pointer()[place].schema)
    return None if found is None else Meant(pointer=place, safety="safe", repair=found)
