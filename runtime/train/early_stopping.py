"""Stops training after some evaluations without an improvement."""

from typing import Any

from .best import describe_metric, name_metric


class EarlyStopping:
    """Stops after `patience` evaluations without gain; depends only on the Trainer's state."""

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def find_stop(self, args: Any, state: Any) -> str | None:
        """Return why training stops before its last step, or None."""
        name, best = name_metric(args), state.best_global_step
        if best is None or state.global_step >= state.max_steps:
            return None
        steps = {log["step"] for log in state.log_history if name in log}
        later = sum(step > best for step in steps)
        if later < self.patience:
            return None
        return (
            f"training stops early, at step {state.global_step:,} of {state.max_steps:,}: in"
            f" {later} evaluations the {describe_metric(args)} did not improve on the"
            f" {state.best_metric:.4f} of step {best:,}, whose checkpoint is kept"
        )
