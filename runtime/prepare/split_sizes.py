"""How many rows each split has. Standard library only: the plan counts by it too."""

from collections.abc import Mapping
from typing import Final

_LEAST_ROWS: Final = 3  # one for each split


def count_held_out(shares: Mapping[str, float], rows: int) -> dict[str, int]:
    """Return the rows of each split but training, which has the rest: at least one of three."""
    counts: dict[str, int] = {}
    for name in sorted(shares):
        wanted = (
            max(1, round(rows * shares[name])) if shares[name] > 0 and rows >= _LEAST_ROWS else 0
        )
        counts[name] = min(wanted, max(0, rows - 1 - sum(counts.values())))
    return counts
