"""The scale of scores and ratings: objectives read numbers from 0 to 1, or good and bad."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ftc.compiler.resolve.rows.reader import Row

#: If more than this share is outside 0 to 1, the scores have another scale; fewer are mistakes.
_SCALE_SHARE: Final = 0.05
_PERCENT: Final = 100
_MOST_STARS: Final = 10
_VERDICTS: Final = (-1, 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreScale:
    """Scores from `lowest` to `highest`, of which `(score + added) / divisor` is from 0 to 1.

    Ratings have no divisor: only their author knows which of them are good.
    """

    lowest: float
    highest: float
    added: int = 0
    divisor: int | None = None


def find_other_scale(rows: Iterable[Row | None], column: str) -> ScoreScale | None:
    """Return the scale of the scores of a column, None where it is 0 to 1 or there is none."""
    numbers = [number for row in rows if row and (number := _read(row.get(column))) is not None]
    outside = sum(not 0 <= number <= 1 for number in numbers)
    if outside <= _SCALE_SHARE * len(numbers):
        return None
    lowest, highest = min(numbers), max(numbers)
    added, most = max(0, -math.floor(lowest)), math.ceil(highest)
    if _MOST_STARS < most < _PERCENT:
        most = _PERCENT
    elif lowest == 1 < most <= _MOST_STARS and all(map(float.is_integer, numbers)):
        added = -1  # stars: the worst is 1
    return ScoreScale(lowest=lowest, highest=highest, added=added, divisor=max(1, most + added))


def find_ratings(rows: Iterable[Row | None], column: str) -> ScoreScale | None:
    """Return the scale of the labels of a column, None where they are verdicts or words.

    On a scale of ratings 1 is no word for a good answer: it may be the worst.
    """
    labels = [_read(row.get(column)) for row in rows if row]
    numbers = [number for number in labels if number is not None]
    outside = sum(number not in _VERDICTS for number in numbers)
    if outside <= _SCALE_SHARE * len(labels):
        return None
    return ScoreScale(lowest=min(numbers), highest=max(numbers))


def _read(cell: object) -> float | None:
    try:
        number = float(str(cell))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
