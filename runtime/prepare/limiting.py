"""Draws the number of rows that the spec asks for, from all rows or from each source."""

import random
from typing import Any

import numpy as np

from .preparing import Rows


def limit(rows: Rows, most: int, seed: int) -> None:
    """Draw `most` of the rows."""
    _draw(rows, rows.wanted, most, seed)


def limit_sources(rows: Rows, seed: int) -> None:
    """Draw the rows of each source that has more rows than its limit."""
    for number, source in enumerate(rows.sources):
        _draw(rows, rows.wanted & (rows.origins == number), source.max_rows, seed)


def _draw(rows: Rows, among: Any, most: int | None, seed: int) -> None:
    beyond = np.flatnonzero(among)
    if most is not None and len(beyond) > most:
        drawn = sorted(random.Random(seed).sample(range(len(beyond)), most))  # noqa: S311
        rows.leave_out(np.delete(beyond, drawn), "beyond max_rows")
