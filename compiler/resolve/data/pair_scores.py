"""Scores of compared answers, in columns without a role, that contradict which answer is chosen."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ftc.compiler.resolve.content_facts import PairScores
from ftc.compiler.resolve.rows.reader import Row
from ftc.compiler.resolve.rows.roles import Roles, usual_name

#: Words in the names of columns where a higher number is a better answer.
_SCORES: Final = frozenset(
    {"score", "scores", "rating", "ratings", "reward", "rewards", "grade", "grades", "stars"}
)


@dataclass(slots=True, kw_only=True)
class PairScoreCount:
    """Counts the pairs whose rejected answer has the higher score.

    The two columns of scores have one name but for the word that tells the columns of the answers
    apart: `score_chosen` and `score_rejected` beside `chosen` and `rejected`.
    """

    columns: tuple[str, str] | None
    compared: int = 0
    contradicted: int = 0
    first: int | None = None

    def watch(self, rows: Iterator[Row | None]) -> Iterator[Row | None]:
        """Yield the rows unchanged, and count them."""
        for number, row in enumerate(rows, start=1):
            if row and self.columns is not None:
                self._count(row, number)
            yield row

    def found(self) -> PairScores | None:
        """Return the fact that the rows show; None where no scores contradict them."""
        if self.columns is None or self.first is None:
            return None
        chosen, rejected = self.columns
        return PairScores(
            chosen=chosen,
            rejected=rejected,
            compared=self.compared,
            contradicted=self.contradicted,
            first=self.first,
        )

    def _count(self, row: Row, number: int) -> None:
        one, other = (_read(row.get(name)) for name in self.columns or ())
        if one is None or other is None:
            return
        self.compared += 1
        if other > one:
            self.contradicted += 1
            self.first = self.first or number


def find_scores(columns: Sequence[str], roles: Roles) -> tuple[str, str] | None:
    """Return the columns with the scores of the chosen and of the rejected answer, if both exist.

    `columns` are those without a role.
    """
    if roles.chosen is None or roles.rejected is None:
        return None
    chosen, rejected = _split(roles.chosen), _split(roles.rejected)
    one, other = set(chosen) - set(rejected), set(rejected) - set(chosen)
    if len(one) != 1 or len(other) != 1:
        return None
    better, worse = one.pop(), other.pop()
    scores = [name for name in columns if better in (parts := _split(name)) and _SCORES & {*parts}]
    for name in scores:
        wanted = [worse if part == better else part for part in _split(name)]
        twin = next((each for each in columns if _split(each) == wanted), None)
        if twin is not None:
            return name, twin
    return None


def _split(name: str) -> list[str]:
    return usual_name(name).replace(".", "_").split("_")


def _read(cell: object) -> float | None:
    if cell is None or isinstance(cell, bool):
        return None
    try:
        number = float(str(cell))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
