"""What two models answer to prompts alone, row by row."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.runtime.evaluate.own_answers import list_each, list_own
from ftc.runtime.metric import metrics

NUMBERS = st.floats(-100, 100)


@given(st.lists(st.tuples(NUMBERS, st.integers(1, 9)), min_size=1, max_size=20))
def test_each_row_has_its_own_number(rows: list[tuple[float, int]]) -> None:
    """Of a mean it is the row's score, of a loss the loss per token of the row."""
    scores, tokens = [score for score, _ in rows], [count for _, count in rows]

    assert list_each(metrics.mean(scores)) == pytest.approx(scores)
    per_token = [score / count for score, count in rows]
    assert list_each(metrics.loss(scores, tokens)) == pytest.approx(per_token)


def test_a_row_without_tokens_has_a_loss_of_zero() -> None:
    """An answer may be empty."""
    assert list_each(metrics.loss([0.0, 3.0], [0, 2])) == [0.0, 1.5]


class Words:
    """A tokenizer of whole words."""

    def decode(self, ids: list[int]) -> str:
        """Return the words."""
        return " ".join(f"w{number}" for number in ids)


def test_both_answers_stand_beside_the_prompt() -> None:
    """With what was measured of them; lists of other lengths are an error of the program."""
    rows: list[Any] = [{"prompt_ids": [1, 2]}, {"prompt_ids": []}]
    trained, base = (["a", "b"], [0.5, 1.0]), (["c", "d"], [0.0, 0.25])

    assert list(list_own(rows, Words(), "reward", trained, base)) == [
        {"prompt": "w1 w2", "said": "a", "reward": 0.5, "base_said": "c", "base_reward": 0.0},
        {"prompt": "", "said": "b", "reward": 1.0, "base_said": "d", "base_reward": 0.25},
    ]
    with pytest.raises(ValueError, match="zip"):
        list(list_own(rows[:1], Words(), "reward", trained, base))
