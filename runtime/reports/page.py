"""The parts of a page: headings, texts, tables of numbers and texts, and figures.

A page is a list of parts that hold plain text. `markdown_page` and `html_page` write it.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\u202a-\u202e\u2066-\u2069]+")
SHOWN_LETTERS = 300  # of a text in the report
DIGITS = 10_000  # numbers from here on are shown without decimals

Cell = str | tuple[str, ...]  # a tuple has the paths of images, relative to the page


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The title of what follows, or with `level` 1 of the page."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A text; the headline is the result of the page."""

    text: str
    is_headline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Lines to run or to copy, in a language."""

    text: str
    language: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture: a file beside the page."""

    file: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under titles; after the first `left` columns, cells are aligned right."""

    titles: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left: int = 1


Part = Heading | Paragraph | Code | Figure | Table
Parts = list[Part]

# -----------------------------------------------------------------------------
# Texts and numbers


def as_line(text: str) -> str:
    """Return a text as one line without control characters."""
    return " ".join(CONTROLS.sub(" ", text).split())


def shorten(text: str, letters: int = SHOWN_LETTERS, *, end: bool = False) -> str:
    """Return the beginning of a text, or its end, with an ellipsis if something is left out."""
    line = as_line(text)
    if len(line) <= letters:
        return line
    return f"… {line[-letters:].lstrip()}" if end else f"{line[:letters].rstrip()} …"


def number(value: float | None, *, share: bool = False) -> str:
    """Return a number as a cell: a share in per cent, no number as a dash."""
    if value is None or not math.isfinite(value):
        return "-"
    if share:
        return f"{value:.1%}"
    return f"{value:,.0f}" if abs(value) >= DIGITS else f"{value:.4f}"


def span(ends: Sequence[float] | None, *, share: bool = False) -> str:
    """Return an interval as a cell."""
    return "-" if ends is None else " to ".join(number(end, share=share) for end in ends)


def difference(value: float | None, *, share: bool = False) -> str:
    """Return a change as a cell; a share changes in percentage points."""
    if value is None:
        return "-"
    return f"{100 * value:+.1f} points" if share else f"{value:+.4f}"


def changed(ends: Sequence[float] | None, *, share: bool = False) -> str:
    """Return the interval of a change as a cell."""
    if ends is None:
        return "-"
    return " to ".join(f"{100 * end:+.1f}" if share else f"{end:+.4f}" for end in ends)


# -----------------------------------------------------------------------------
# Tables


def table(titles: Sequence[str], rows: Sequence[Sequence[Cell]], *, left: int = 1) -> Parts:
    """Return a table, or nothing without rows."""
    cells = tuple(tuple(row) for row in rows)
    return [Table(titles=tuple(titles), rows=cells, left=left)] if cells else []


def comparison(judged: Mapping[str, Any], words: Mapping[str, str]) -> Parts:
    """Return the table of what evaluate.py measured before and after training, on the same rows.

    `words` has the titles of numbers whose names do not say enough.
    """
    cells = []
    for name, rows in judged["judged"].items():
        percent, change = name in judged["percent"], judged["changes"].get(name)
        row = [words.get(name, name.replace("_", " ")), f"{rows:,}"]
        row += [number(judged["base"].get(name), share=percent)]
        row += [number(judged[name], share=percent)]
        row += [span(judged["intervals"][name], share=percent)]
        row += [difference(change and change["change"], share=percent)]
        row += [changed(change and change["interval"], share=percent)]
        cells.append([*row, change["verdict"] if change else "-"])
    interval = "95% interval"
    before = judged["compared_with"]
    return table(
        ("metric", "rows", before, "trained", interval, "change", interval, "verdict"), cells
    )
