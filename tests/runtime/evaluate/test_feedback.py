"""Verdicts on answers: what is measured of a split, also of one with a single verdict."""

import json
import math

from ftc.runtime.evaluate.feedback import gap, measure_likelier, measure_rewards, told_apart
from ftc.runtime.evaluate.preferences import beats
from ftc.runtime.metric.metrics import describe, lines

REWARDS = [0.4, 0.1, 0.3, -0.2, 0.0, 0.2, 0.5, -0.1]
GOOD = [True, False, True, False, False, True, True, False]


def test_a_good_answer_is_rewarded_more() -> None:
    """All pairs of a good and a bad answer, and the difference of their means."""
    assert told_apart(REWARDS, GOOD).value == 1
    assert math.isclose(gap(REWARDS, GOOD).value, 0.35 - (-0.05))
    assert told_apart(REWARDS, [not good for good in GOOD]).value == 0


def test_a_split_with_one_verdict_has_no_margin() -> None:
    """Its report is still JSON, and says that the numbers do not exist."""
    rows = [{"label": True} for _ in REWARDS]
    before = {"nats": [1.0] * 8, "tokens": [2] * 8}
    after = {"nats": [1.0 - reward for reward in REWARDS], "tokens": [2] * 8}
    measured = measure_likelier(after, rows) | measure_rewards(after, before, 0.1, rows)
    report = {"rows": 8, **describe(measured, measure_likelier(before, rows), "the base")}

    assert report["reward_margin"] is report["reward_accuracy"] is None
    assert report["intervals"]["reward_margin"] is None
    assert report["chosen_reward"] > 0
    assert beats(measured["reward_accuracy"], 0.5) == "not distinguishable"
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert "not a finite number" in "\n".join(lines(report))
