"""Preferences: margins per token, and the rewards of DPO, ORPO and KTO."""

import math
from dataclasses import replace
from typing import Any

import pytest

from ftc.runtime.evaluate import feedback, preferences
from ftc.runtime.metric import metrics

AFTER: dict[str, Any] = {
    "nats": [2.0, 9.0],
    "tokens": [2, 3],
    "rejected_nats": [8.0, 2.0],
    "rejected_tokens": [4, 1],
}
BEFORE: dict[str, Any] = {**AFTER, "nats": [3.0, 8.0], "rejected_nats": [5.0, 4.0]}


def test_rejected_answers_follow_the_prompt() -> None:
    """The prompt is what the chosen row does not learn."""
    row = {"input_ids": [1, 2, 3, 4], "labels": [-100, -100, 3, 4], "rejected_ids": [9]}

    assert preferences.list_rejected([row]) == [([1, 2, 9], [-100, -100, 9])]


def test_a_margin_is_per_token() -> None:
    """A long answer is not less likely because it is long."""
    assert preferences.compute_margins(AFTER) == [-1.0 + 2.0, -3.0 + 2.0]
    assert preferences.measure_likelier(AFTER)["chosen_likelier"].value == 0.5


def test_rewards_of_dpo_are_what_training_changed() -> None:
    """Chosen: 1 and -1 nats likelier; rejected: -3 and 2; times beta."""
    found = preferences.measure_rewards(AFTER, BEFORE, 0.5)

    assert {name: one.value for name, one in found.items()} == {
        "reward_accuracy": 0.5,
        "reward_margin": 0.5 * (4 - 3) / 2,
        "chosen_reward": 0.0,
        "rejected_reward": -0.25,
    }


def test_rewards_of_orpo_need_no_reference() -> None:
    """They are the log-probabilities per token, times beta."""
    found = preferences.measure_odds(AFTER, 0.1)

    assert found["reward_accuracy"].value == 0.5
    assert found["reward_margin"].value == pytest.approx(0.0)
    assert found["chosen_reward"].value == pytest.approx(0.1 * -2)
    assert found["rejected_reward"].value == pytest.approx(0.1 * -2)


def test_rewards_of_kto_compare_all_rows() -> None:
    """Each desirable row is compared with each undesirable one."""
    rows = [{"label": True}, {"label": False}, {"label": False}]
    after = {"nats": [1.0, 5.0, 1.0], "tokens": [1, 1, 1]}
    before = {"nats": [3.0, 3.0, 4.0], "tokens": [1, 1, 1]}
    found = feedback.measure_rewards(after, before, 1.0, rows)

    assert found["chosen_reward"].value == 2.0
    assert found["rejected_reward"].value == 0.5
    assert found["reward_margin"].value == pytest.approx(1.5)
    assert found["reward_accuracy"].value == 0.5
    assert feedback.measure_likelier(after, rows)["desirable_likelier"].value == 0.5
    assert math.isnan(feedback.told_apart([1.0], [True]).value)


def test_predictions_show_both_margins() -> None:
    """A person reads the pair, and sees what training changed."""

    class Tokenizer:
        """Decodes ids as numbers."""

        def decode(self, ids: list[int], **_: Any) -> str:
            """Return the ids, apart from each other."""
            return " ".join(map(str, ids))

    row = {"prompt_ids": [1], "chosen_ids": [2], "rejected_ids": [3]}
    first = next(preferences.list_predictions([row, row], Tokenizer(), AFTER, BEFORE))

    assert first == {
        "prompt": "1",
        "chosen": "2",
        "rejected": "3",
        "margin": 1.0,
        "base_margin": -1.5 + 1.25,
    }


@pytest.mark.parametrize(
    ("hits", "rows", "higher", "verdict"),
    [
        (90, 100, True, "better"),
        (90, 100, False, "worse"),
        (10, 100, True, "worse"),
        (55, 100, True, "not distinguishable"),
        (3, 3, True, "not distinguishable"),
    ],
)
def test_chance_is_beaten_by_an_interval(
    hits: int, rows: int, verdict: str, *, higher: bool
) -> None:
    """Few rows, or a share near to one half, tell nothing."""
    found = metrics.share([1.0] * hits + [0.0] * (rows - hits))

    assert preferences.beats(replace(found, higher=higher), 0.5) == verdict
