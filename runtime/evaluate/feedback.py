"""Judges answers that each have a verdict, as in KTO: desirable ones must be likelier."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..metric.metrics import Measured, mean

Found = Mapping[str, Any]  # `nats` and `tokens` of each row
Rows = Sequence[Mapping[str, Any]]  # `label`: whether the answer is desirable


def told_apart(rewards: Sequence[float], good: Sequence[bool]) -> Measured:
    """Measure in which share of pairs of a good and a bad row the good one has a higher reward.

    The Mann-Whitney U statistic over the number of pairs: the area under the ROC curve.
    """
    numbers, is_good = np.asarray(rewards, float), np.asarray(good, bool)
    order = np.argsort(numbers[~is_good])
    below = np.searchsorted(numbers[~is_good][order], numbers[is_good], side="left")

    def measure(times: Any) -> float:
        weights = np.concatenate(([0.0], np.cumsum(times[~is_good][order])))
        pairs = times[is_good].sum() * weights[-1]
        return float(times[is_good] @ weights[below] / pairs) if pairs else float("nan")

    return Measured(parts=rewards, measure=measure, higher=True, percent=True)


def gap(rewards: Sequence[float], good: Sequence[bool]) -> Measured:
    """Measure how much higher the mean reward of good rows is than that of bad ones."""
    numbers, is_good = np.asarray(rewards, float), np.asarray(good, bool)

    def measure(times: Any) -> float:
        ups, downs = times * is_good, times * ~is_good
        if not ups.any() or not downs.any():
            return float("nan")
        return float(ups @ numbers / ups.sum() - downs @ numbers / downs.sum())

    return Measured(parts=rewards, measure=measure, higher=True)


def measure_likelier(found: Found, rows: Rows) -> dict[str, Measured]:
    """Return in which share of pairs a desirable answer is likelier per token than another one."""
    pairs = zip(found["nats"], found["tokens"], strict=True)
    likely = [-nats / tokens for nats, tokens in pairs]
    return {"desirable_likelier": told_apart(likely, [row["label"] for row in rows])}


def measure_rewards(after: Found, before: Found, beta: float, rows: Rows) -> dict[str, Measured]:
    """Return the rewards of KTO: `beta` times how much likelier training made an answer."""
    pairs = zip(before["nats"], after["nats"], strict=True)
    rewards = [beta * (old - new) for old, new in pairs]
    desirable = [row["label"] for row in rows]
    chosen = [reward for reward, good in zip(rewards, desirable, strict=True) if good]
    rejected = [reward for reward, good in zip(rewards, desirable, strict=True) if not good]
    return {
        "reward_accuracy": told_apart(rewards, desirable),
        "reward_margin": gap(rewards, desirable),
        "chosen_reward": mean(chosen),
        "rejected_reward": mean(rejected),
    }
