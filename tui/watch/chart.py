"""Draws curves with characters: braille dots, or ASCII if the terminal has no others."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ftc.tui.watch.training import Curve

#: The dots of a braille character, by row and column: Unicode 16, block U+2800.
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE: Final = 0x2800
_LABEL: Final = 10
#: The width of the labels left of a row.
MARGIN: Final = _LABEL + 1
_LEAST_COLUMNS: Final = 8
#: A loss falls so much in the first steps that the rest looks flat on a linear scale.
_DECADES_TIMES: Final = 10.0

Cells = Mapping[tuple[int, int], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """`rows` are lines of text from the top, without labels; `marked` are the cells of points.

    `traced` are the cells of the line; the other characters are its raw points. `labels` are left
    of the rows, and `foot` is below them. `logarithmic` tells whether the scale is logarithmic.
    """

    labels: tuple[str, ...]
    rows: tuple[str, ...]
    marked: frozenset[tuple[int, int]]
    traced: frozenset[tuple[int, int]]
    foot: str
    logarithmic: bool

    @property
    def lines(self) -> tuple[str, ...]:
        """The whole chart as text."""
        drawn = (
            f"{label:>{_LABEL}} {row}".rstrip()
            for label, row in zip(self.labels, self.rows, strict=True)
        )
        return (*drawn, self.foot)


def draw(
    line: Curve,
    points: Curve,
    *,
    columns: int,
    rows: int,
    plain: bool,
    word: str = "step",
    raw: Curve = (),
) -> Chart | None:
    """Return a line and points on one scale, in the given size; None if there is no room.

    `raw` are the unsmoothed points, drawn behind the line. `word` is the word for a step, below the
    axis. A column shows the mean of its values, so the size of the chart does not depend on their
    number. Positive values that span more than a decade are drawn on a logarithmic scale.
    """
    width = columns - MARGIN
    both = (*line, *points, *raw)
    if width < _LEAST_COLUMNS or rows < 2 or not both:  # noqa: PLR2004 - a top and a bottom
        return None
    first, last = min(step for step, _ in both), max(step for step, _ in both)
    low, high = min(value for _, value in both), max(value for _, value in both)
    logarithmic = low > 0 and high > _DECADES_TIMES * low
    frame = _Frame(
        first=first,
        last=last,
        low=low,
        high=high,
        width=width,
        rows=rows,
        logarithmic=logarithmic,
    )
    behind = _plain_cells(frame, raw, ".") if plain else _dotted_cells(frame, raw)
    cells = _plain_cells(frame, line, "*") if plain else _dotted_cells(frame, line)
    marks = {frame.cell(step, value): "o" if plain else "●" for step, value in points}
    drawn = {**behind, **cells, **marks}
    half = (rows - 1) // 2
    middle = math.sqrt(low * high) if logarithmic else (low + high) / 2
    labels = {0: high, rows - 1: low, half: middle if rows > 4 else None}  # noqa: PLR2004
    return Chart(
        labels=tuple(_label(labels.get(row)) for row in range(rows)),
        rows=tuple(
            "".join(drawn.get((row, column), " ") for column in range(width)) for row in range(rows)
        ),
        marked=frozenset(marks),
        traced=frozenset(cells) - frozenset(marks),
        foot=_foot(first, last, width, word),
        logarithmic=logarithmic,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """Converts steps and values to cells, and back."""

    first: int
    last: int
    low: float
    high: float
    width: int
    rows: int
    logarithmic: bool

    def place(self, step: int, value: float, *, across: int, down: int) -> tuple[int, int]:
        """Return the (row, column) of a point, with this many cells per character."""
        columns, lines = self.width * across, self.rows * down
        share = (step - self.first) / max(1, self.last - self.first)
        value, low, high = (
            math.log(each) if self.logarithmic else each for each in (value, self.low, self.high)
        )
        height = (value - low) / (high - low) if high > low else 0.5
        return round((1 - height) * (lines - 1)), round(share * (columns - 1))

    def cell(self, step: int, value: float) -> tuple[int, int]:
        """Return the character cell of a point."""
        return self.place(step, value, across=1, down=1)


def _plain_cells(frame: _Frame, line: Curve, letter: str) -> Cells:
    return dict.fromkeys(_trace(frame, line, across=1, down=1), letter)


def _dotted_cells(frame: _Frame, line: Curve) -> Cells:
    bits: dict[tuple[int, int], int] = {}
    for row, column in _trace(frame, line, across=2, down=4):
        cell = (row // 4, column // 2)
        bits[cell] = bits.get(cell, 0) | _DOTS[row % 4][column % 2]
    return {cell: chr(_BRAILLE + dots) for cell, dots in bits.items()}


def _trace(frame: _Frame, line: Curve, *, across: int, down: int) -> Iterator[tuple[int, int]]:
    """Yield the cells of a line: one per column, and those that connect two columns."""
    heights: dict[int, list[int]] = {}
    for step, value in line:
        row, column = frame.place(step, value, across=across, down=down)
        heights.setdefault(column, []).append(row)
    means = [(column, round(sum(rows) / len(rows))) for column, rows in sorted(heights.items())]
    for (column, row), (then, there) in pairwise(means):
        yield from _between(column, row, then, there)
    if means:
        yield means[-1][1], means[-1][0]


def _between(column: int, row: int, then: int, there: int) -> Iterator[tuple[int, int]]:
    steps = max(then - column, abs(there - row), 1)
    for part in range(steps):
        yield (
            row + round((there - row) * part / steps),
            column + round((then - column) * part / steps),
        )


def _label(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if abs(value) < 10**5 else f"{value:.2e}"


def _foot(first: int, last: int, width: int, word: str) -> str:
    left, right = f"{word} {first:,}", f"{last:,}"
    gap = max(1, width - len(left) - len(right))
    return f"{'':{_LABEL}} {left}{' ' * gap}{right}"
