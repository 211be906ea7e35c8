"""Warns when rewards do not differ.

GRPO learns from how much better an answer is than the other answers to its prompt. If all of them
get the same reward, it learns nothing.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from transformers.trainer_callback import TrainerCallback

from ..train.training import TrainingSession

REWARD_CURVES = {"train": "loss", "reward": "reward", "validation_reward": "eval_reward"}  # curves
EQUAL_LOGS = 5  # logs without a difference before the first warning
OFTEN = 0.5  # a larger share of answers that are cut off is part of the warning


class FlatRewards(TrainerCallback):
    """Warns after EQUAL_LOGS logs without a difference, and again each time after twice as many."""

    def __init__(self, session: TrainingSession) -> None:
        self.session = session

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Count the last logs without a difference."""
        if "frac_reward_zero_std" not in kwargs["logs"]:
            return  # an evaluation
        trained = [log for log in state.log_history if "frac_reward_zero_std" in log]
        equal = list(takewhile(lambda log: log["frac_reward_zero_std"] == 1, reversed(trained)))
        times, rest = divmod(len(equal), EQUAL_LOGS)
        if not rest and times.bit_count() == 1:
            warning = describe(equal)
            self.session.run.say(f"warning: {warning}")
            self.session.log(state, warning=warning)


def describe(logs: Sequence[Mapping[str, Any]]) -> str:
    """Return what happened in these logs, the newest first, and what to check."""
    steps = f"step {logs[-1]['step']:,} to {logs[0]['step']:,}"
    if any(log["reward"] for log in logs):
        advice = (
            "the rewards do not separate good answers from bad ones: check objective.rewards, or"
            " use harder prompts"
        )
    else:
        advice = (
            "no answer is rewarded: compare some of the model's answers with objective.rewards,"
            " use easier prompts, or train on good answers first (objective sft)"
        )
    cut = sum(log.get("completions/clipped_ratio") or 0.0 for log in logs) / len(logs)
    if cut > OFTEN:
        advice += f"; {cut:.0%} of the answers are cut off: set a larger objective.answer_tokens"
    return (
        f"in {len(logs)} logs, {steps}, all answers to a prompt got the same reward, so the model"
        f" learned nothing from them; {advice}"
    )
