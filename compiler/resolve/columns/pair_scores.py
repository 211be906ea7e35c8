"""Finds columns without a role that contradict the choice between two answers."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

from ftc.compiler.resolve.content_facts import PairScores
from ftc.compiler.resolve.rows.reader import Row
from ftc.compiler.resolve.rows.roles import Roles
from ftc.spec.columns.usual_names import usual_name

#: Words in the names of columns in which a higher number means a better answer.
_SCORES: Final = frozenset(
    {"score", "scores", "rating", "ratings", "reward", "rewards", "grade", "grades", "stars"}
)


#: Names of columns that contain the name of the worse answer.
_WORSE: Final = frozenset({"loser", "worse", "worst"})
_LONGEST_NAME: Final = 40  # of an answer's name, in a column that names the better answer
_ROWS: Final = 200
_LEAST_NAMED: Final = 0.5  # of the rows


@dataclass(slots=True, kw_only=True)
class _Count:
    """The numbers of compared and of contradicted pairs, and the first contradicted row."""

    compared: int = 0
    contradicted: int = 0
    first: int | None = None

    def add(self, number: int, *, contradicts: bool) -> None:
        self.compared += 1
        if contradicts:
            self.contradicted += 1
            self.first = self.first or number

    def tell(self, chosen: str, rejected: str | None) -> PairScores | None:
        if self.first is None:
            return None
        return PairScores(
            chosen=chosen,
            rejected=rejected,
            compared=self.compared,
            contradicted=self.contradicted,
            first=self.first,
        )


class PairScoreCount:
    """Counts the pairs whose rejected answer is better according to columns without a role.

    The names of two score columns differ only in the word that also distinguishes the answer
    columns: `score_chosen` and `score_rejected` beside `chosen` and `rejected`. A column that names
    the better answer has that word in its cells: `model_b` beside `answer_a` and `answer_b`.
    """

    def __init__(self, columns: Sequence[str], roles: Roles) -> None:
        self.words = find_words(roles)
        self.scores = None if self.words is None else find_scores(columns, self.words)
        self.rows, self.scored = 0, _Count()
        self.named = {name: _Count() for name in columns if not _WORSE & {*_split(name)}}

    def watch(self, rows: Iterator[Row | None]) -> Iterator[Row | None]:
        """Yield the rows unchanged, and count them."""
        for number, row in enumerate(rows, start=1):
            if row and self.words is not None:
                self.rows += 1
                self._count(row, number, self.words)
            yield row

    def found(self) -> PairScores | None:
        """Return the result of the count; None if nothing contradicts the pairs."""
        if self.scores is not None and (told := self.scored.tell(*self.scores)) is not None:
            return told
        told_by = (
            count.tell(name, None)
            for name, count in self.named.items()
            if count.compared >= _LEAST_NAMED * self.rows
        )
        return next((each for each in told_by if each is not None), None)

    def _count(self, row: Row, number: int, words: tuple[str, str]) -> None:
        if self.scores is not None:
            one, other = (_read(row.get(name)) for name in self.scores)
            if one is not None and other is not None:
                self.scored.add(number, contradicts=other > one)
        for name, count in self.named.items():
            cell = row.get(name)
            if isinstance(cell, str) and len(cell) <= _LONGEST_NAME:
                said = [word for word in words if word in _split(cell)]
                if len(said) == 1:
                    count.add(number, contradicts=said == [words[1]])


def find_compared(
    columns: Sequence[str], rows: Iterable[Row | None]
) -> tuple[str, tuple[str, str]] | None:
    """Return the column that names the better of two answers, with their columns, or None.

    Arena data has such columns: `winner` beside `response_a` and `response_b`.
    """
    seen = list(islice(rows, _ROWS))
    for one, other in combinations(columns, 2):
        others = [name for name in columns if name not in (one, other)]
        count = PairScoreCount(others, Roles(form="preference", chosen=one, rejected=other))
        for _ in count.watch(iter(seen)):
            pass
        for name, found in count.named.items():
            if 0 < found.contradicted < found.compared >= _LEAST_NAMED * count.rows:
                return name, (one, other)
    return None


def find_words(roles: Roles) -> tuple[str, str] | None:
    """Return the words that distinguish the column names of the better and the worse answer."""
    if roles.chosen is None or roles.rejected is None:
        return None
    chosen, rejected = _split(roles.chosen), _split(roles.rejected)
    one, other = set(chosen) - set(rejected), set(rejected) - set(chosen)
    return (one.pop(), other.pop()) if len(one) == len(other) == 1 else None


def find_scores(columns: Sequence[str], words: tuple[str, str]) -> tuple[str, str] | None:
    """Return the columns with the scores of the chosen and the rejected answer, if both exist.

    `columns` are those without a role, `words` those of `find_words`.
    """
    better, worse = words
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
