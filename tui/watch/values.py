"""Reads the values of a record by name; a file may contain anything."""

import math
from typing import Any, Final

from ftc.tui.watch.records import Record

_MOST_LETTERS: Final = 500
_LARGEST: Final = 2**53


def number(record: Record, name: str) -> float | None:
    """Return a finite number; None for anything else."""
    found = record.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float) or abs(found) > _LARGEST:
        return None
    return float(found) if math.isfinite(found) else None


def count(record: Record, name: str) -> int | None:
    """Return a count: a whole number from 0."""
    found = number(record, name)
    return None if found is None or found < 0 else int(found)


def text(record: Record, name: str) -> str:
    """Return one line without control characters; "" for anything but a text."""
    found: Any = record.get(name)
    if not isinstance(found, str):
        return ""
    shown = "".join(letter if letter.isprintable() else " " for letter in found[:_MOST_LETTERS])
    return " ".join(shown.split())


def section(record: Record, name: str) -> Record:
    """Return an object in a record; an empty object for anything else."""
    found = record.get(name)
    return found if isinstance(found, dict) else {}
