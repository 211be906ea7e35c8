"""The best checkpoint by a metric that counts right answers or labels."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from .best import BestCheckpoint, find_reordered


class BestByMetric(BestCheckpoint):
    """Chooses the best checkpoint by a metric of generated answers, or of predicted labels.

    `measure` gets model and tokenizer and returns the metric of answers; without it, the Trainer
    measures the metric. `rows` is the number of rows, each with at most `tokens` tokens.
    """

    def __init__(
        self,
        session: Any,
        *,
        rows: int,
        stopping: Any = None,
        metric: str = "",
        measure: Callable[[Any, Any], float] | None = None,
        tokens: int = 1,
    ) -> None:
        super().__init__(session, stopping=stopping)
        self.metric, self.measure, self.rows, self.tokens = metric, measure, rows, tokens

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Measure the metric and log it like the metrics of the Trainer."""
        if self.measure is not None:
            measured = self.measure(kwargs["model"], kwargs["processing_class"])
            if args.world_size > 1:
                measured = broadcast(measured)
            name = f"eval_{self.metric}"
            state.log_history[-1][name] = kwargs["metrics"][name] = measured
            if not self.is_over:
                self.session.log(state, **{name: measured})
                self.run.say(f"step {state.global_step:,}: {self.metric} {measured:.4f}")
        super().on_evaluate(args, state, control, **kwargs)

    def find_errors(
        self,
        trainer: Any,
        evaluations: list[dict[str, Any]],
        chosen: Mapping[str, Any],
        kept: Mapping[str, Any],
    ) -> tuple[float, float]:
        """Return the error of a share of right answers; the same rows are answered without noise.

        A token can change if another one is nearly as likely, and with it the answer.
        """
        changed = min(1.0, self.tokens * find_reordered(trainer.args))
        return 2 * math.sqrt(changed / self.rows), 0.0


def broadcast(number: float) -> float:
    """Return the first process's number on every process, so that all choose the same."""
    device = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
    found = torch.tensor(number, dtype=torch.float64, device=device)
    torch.distributed.broadcast(found, 0)
    return float(found.item())
