"""The places of a key in a spec: the fields that its name may mean, and the one that counts it."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ftc.spec.keys.moving import Meant
from ftc.spec.pointer import split
from ftc.spec.schema import fields, fields_by_pointer, read_unsupported
from ftc.spec.values.repair import find_counted_item


def find_places(key: str) -> tuple[str, ...]:
    """Return the pointers of the fields that a name or its abbreviation may mean."""
    name = key.casefold().replace("-", "_")
    return _everywhere().get(name) or _abbreviated().get(name, ())


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


def find_by_count(key: str, section: Mapping[str, Any], pointer: str) -> Meant | None:
    """Find the section's own field whose value is the key, with their number: `{"A100": 2}`."""
    whole = fields_by_pointer().get(pointer)
    name = whole.schema.get("x-short") if whole is not None else None
    if name is None or name in section:
        return None
    place = f"{pointer}/{name}"
    found = find_counted_item(key, section[key], fields_by_pointer()[place].schema)
    return None if found is None else Meant(pointer=place, safety="safe", repair=found)
