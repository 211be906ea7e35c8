"""Recognises the content of a JSON Lines file without one object per line."""

import ast
import json
import warnings
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from ftc.compiler.resolve.rows.table import TableFile, sniff_format
from ftc.runtime.read.json_files import parse_line

Layout = Literal["json", "csv", "comma", "lines", "objects", "list"]
_LONGEST_LINE: Final = 100_000
_LINES: Final = 200
_MOST: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLayout:
    """What a file holds instead of objects; `broken` of its first `lines` are not objects."""

    layout: Layout
    broken: int
    lines: int


def find_layout(path: Path) -> Layout:
    """Return the variant of help for a file that does not have one object in each line."""
    shown = sniff_format(path)
    if shown in ("json", "csv"):
        return "json" if shown == "json" else "csv"
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LONGEST_LINE).lstrip()
    first, _, others = (part.strip() for part in text.partition("\n"))
    if others and isinstance(parse_line(first), list):
        return "objects"
    if first.endswith(",") and isinstance(_decode(first), dict):
        return "comma"
    return "lines" if isinstance(_decode(text), dict) else "list"


def find_other_layout(file: TableFile) -> OtherLayout | None:
    """Return what a file holds if fewer than half of its lines are objects; else None.

    The last object of a list is a line of its own, and so are the short ones inside a long one. A
    short file without any object has no columns, which is reported elsewhere.
    """
    with file.path.open(encoding=file.encoding, errors="replace") as stream:
        lines = list(islice(filter(str.strip, stream), _LINES))
    sound = sum(isinstance(parse_line(line), dict) for line in lines)
    if sound >= _MOST * len(lines) or (not sound and len(lines) < _LINES):
        return None
    layout = find_layout(file.path)
    if layout in ("objects", "list"):
        return None
    return OtherLayout(layout=layout, broken=len(lines) - sound, lines=len(lines))


def _decode(text: str) -> object:
    """Return the first JSON value of a text, or None without one."""
    try:
        value: object = json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
    return value


def holds_python(path: Path) -> bool:
    """Return whether the first line is a Python dictionary, as `print` and `str` write one."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline(_LONGEST_LINE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return isinstance(ast.literal_eval(first.strip()), dict)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
