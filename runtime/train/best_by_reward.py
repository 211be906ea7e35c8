"""The best checkpoint by the mean reward of sampled answers, which is a random number."""

import math
import statistics
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from ..upstream.sampled_answers import find_evaluation_metrics
from .best import BestCheckpoint

STANDARD_ERRORS = 2  # of a difference of two means: chance gives less in 97% of cases (Welch 1947)
BAD_LUCK = 1e-4  # the probability that new answers of the right weights differ by more


class BestByReward(BestCheckpoint):
    """Chooses the checkpoint with the highest mean reward on the validation split."""

    def attach(self, trainer: Any) -> None:
        """Read the rewards of every batch of an evaluation."""
        self.metrics = find_evaluation_metrics(trainer)

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Note the variance of an evaluation's rewards."""
        if "eval_reward" in kwargs["logs"]:
            state.log_history[-1]["eval_reward_variance"] = find_variance(self.metrics)

    def find_errors(
        self,
        trainer: Any,
        evaluations: list[dict[str, Any]],
        chosen: Mapping[str, Any],
        kept: Mapping[str, Any],
    ) -> tuple[float, float]:
        """Return the errors of means of rewards, which depend on their spread and number.

        The best of several means is biased upwards, so the bound covers all of them together.
        """
        rows, count = len(trainer.eval_dataset), len(evaluations)
        errors = NormalDist().inv_cdf(1 - BAD_LUCK / (2 * count))
        noise = STANDARD_ERRORS * find_standard_error(evaluations[0], kept, rows)
        return errors * find_standard_error(chosen, kept, rows), noise


def find_standard_error(one: Mapping[str, Any], other: Mapping[str, Any], rows: int) -> float:
    """Return the standard error of the difference of two mean rewards of the same model.

    Both are samples of one distribution, so its variance is that of all rewards together, which
    includes the difference of the means. Otherwise it would be 0 where the few answers of each
    evaluation happen to have the same reward.
    """
    within = (one["eval_reward_variance"] + other["eval_reward_variance"]) / 2
    between = ((one["eval_reward"] - other["eval_reward"]) / 2) ** 2
    return math.sqrt(2 * (within + between) / rows)


def find_variance(metrics: Mapping[str, list[float]]) -> float:
    """Return the variance of an evaluation's rewards, within its batches and between them."""
    means = [mean for mean in metrics["reward"] if math.isfinite(mean)]
    deviations = [each for each in metrics["reward_std"] if math.isfinite(each)]
    within = sum(each**2 for each in deviations) / max(1, len(deviations))
    return within + (statistics.pvariance(means) if means else 0.0)
