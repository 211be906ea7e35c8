"""Scores of both answers that contradict which of them is chosen."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ftc.compiler.resolve.columns.pair_scores import PairScoreCount
from ftc.compiler.resolve.content_facts import PairScores
from ftc.compiler.resolve.rows.roles import Roles

PAIR = Roles(form="preference", prompt="prompt", chosen="chosen", rejected="rejected")


def look(columns: list[str], roles: Roles, rows: Sequence[Mapping[str, Any]]) -> PairScores | None:
    """Return what rows with these columns show."""
    count = PairScoreCount(columns, roles)
    assert list(count.watch(iter(rows))) == list(rows)
    return count.found()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("score_chosen", "score_rejected"),
        ("chosen_rating", "rejected_rating"),
        ("chosen-reward", "rejected-reward"),
    ],
)
def test_rejected_answers_with_a_higher_score_are_counted(one: str, other: str) -> None:
    """With the first of them; equal and missing scores say nothing."""
    scores = [(9, 1), ("2.5", "7"), (3, 3), (None, 4), (1, 2), ("n/a", 2)]
    rows = [{one: better, other: worse} for better, worse in scores]
    expected = PairScores(chosen=one, rejected=other, compared=4, contradicted=2, first=2)
    assert look(["source", other, one], PAIR, rows) == expected


def test_the_names_are_those_of_the_answers() -> None:
    """The words that tell the answers apart tell their scores apart."""
    roles = Roles(form="preference", prompt="p", chosen="answer_a", rejected="answer_b")
    found = look(["score_a", "score_b"], roles, [{"score_a": 1, "score_b": 2}])
    assert found is not None
    assert (found.chosen, found.rejected) == ("score_a", "score_b")


@pytest.mark.parametrize(
    "columns",
    [["chosen_tokens", "rejected_tokens"], ["score_chosen"], ["score", "rating"]],
)
def test_other_columns_are_no_scores(columns: list[str]) -> None:
    """Lengths, a score alone, and columns that are called otherwise."""
    assert look(columns, PAIR, [dict.fromkeys(columns, 1)]) is None


def test_scores_that_fit_are_not_told() -> None:
    """Where the chosen answer has at least the score of the other."""
    columns = ["score_chosen", "score_rejected"]
    assert look(columns, PAIR, [{"score_chosen": 2, "score_rejected": 1}]) is None


@pytest.mark.parametrize(("cells", "count"), [(("model_a", "model_b"), 3), (("A", "tie"), 0)])
def test_a_column_may_name_the_better_answer(cells: tuple[str, str], count: int) -> None:
    """By the word that tells the answers apart; ties and long texts say nothing."""
    roles = Roles(form="preference", prompt="p", chosen="response_a", rejected="response_b")
    rows = [{"winner": cells[n % 2], "loser": cells[n % 2], "text": "b " * 40} for n in range(6)]
    found = look(["winner", "loser", "text"], roles, rows)
    assert (0 if found is None else found.contradicted) == count
    assert found is None or (found.chosen, found.rejected, found.first) == ("winner", None, 2)
