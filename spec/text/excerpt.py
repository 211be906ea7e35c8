"""The excerpt: one line of a document with a caret under a column, for a terminal."""

import unicodedata
from typing import Final

from ftc.spec.findings.finding import Position
from ftc.spec.text.secrets import redact

_WIDTH: Final = 100
_TAB: Final = "    "
_PICTURES: Final = 0x2400
_DELETE: Final = "\x7f"


def excerpt(text: str, position: Position, *, width: int = _WIDTH) -> str:
    """Return two lines: the document's line with its number, and a caret under the column.

    A line of more than `width` cells is cut around the caret. Characters that a terminal would
    interpret (control characters, text direction marks) are made visible. Secrets are hidden.
    """
    lines = redact(text).split("\n")
    line = lines[position.line - 1] if position.line <= len(lines) else ""
    cells = [_visible(letter) for letter in line.removesuffix("\r")]
    at = min(position.column - 1, len(cells))
    start, end = _window(cells, at, width)
    before = ("…" if start else "") + "".join(cells[start:at])
    after = "".join(cells[at:end]) + ("…" if end < len(cells) else "")
    gutter = f"{position.line} | "
    return f"{gutter}{before}{after}\n{'| ':>{len(gutter)}}{' ' * _cells(before)}^"


def _window(cells: list[str], at: int, width: int) -> tuple[int, int]:
    """Return the range of cells to show: at most `width` wide, the caret inside it."""
    start = end = at
    used = 0
    while used < width:
        if start > 0 and (at - start <= end - at or end >= len(cells)):
            start -= 1
            used += _cells(cells[start])
        elif end < len(cells):
            used += _cells(cells[end])
            end += 1
        else:
            break
    return start, end


def _visible(letter: str) -> str:
    if letter == "\t":
        return _TAB
    if letter < " ":
        return chr(_PICTURES + ord(letter))
    if letter == _DELETE:
        return "␡"
    return letter if letter.isprintable() or unicodedata.combining(letter) else ascii(letter)[1:-1]


def _cells(text: str) -> int:
    """Return the width of the text in terminal cells."""
    return sum(_letter_cells(letter) for letter in text)


def _letter_cells(letter: str) -> int:
    if unicodedata.category(letter) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1
