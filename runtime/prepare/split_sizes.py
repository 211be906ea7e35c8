"""Counts the rows of each split. Standard library only: the plan counts with it too."""

from collections.abc import Mapping
from typing import Final

_LEAST_ROWS: Final = 3  # one for each split


def count_held_out(shares: Mapping[str, float], rows: int) -> dict[str, int]:
    """Return the rows of each held-out split, at least 1 of 3 rows; training has the rest."""
    counts: dict[str, int] = {}
    for name in sorted(shares):
        wanted = (
            max(1, round(rows * shares[name])) if shares[name] > 0 and rows >= _LEAST_ROWS else 0
        )
        counts[name] = min(wanted, max(0, rows - 1 - sum(counts.values())))
    return counts
