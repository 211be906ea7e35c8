"""Replaces two methods of transformers' Trainer: the validation loss is a mean over learned tokens.

The Trainer's own loss is a mean over batches, and it has no option to weigh them. The best
checkpoint, early stopping and the curves use this loss. For several processes see
parallel.shared_evaluation. tests/runtime/upstream/test_upstream.py fails if `prediction_step` or
`evaluation_loop` has changed. The file, at the version that was tested:
https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/trainer.py
"""

from collections.abc import Callable
from typing import Any

import torch

from ..tokens.encoding import NOT_LEARNED


def count_learned(inputs: Any) -> torch.Tensor:
    """Return how many tokens of a batch have a loss."""
    if isinstance(inputs, list):  # of rows: every token of an answer has one
        return torch.tensor(sum(len(row["input_ids"]) - len(row["prompt_ids"]) for row in inputs))
    labels: torch.Tensor = inputs["labels"][:, 1:]
    return (labels != NOT_LEARNED).sum()


def average_loss(
    trainer: Any,
    *,
    weigh: Callable[[Any, int], torch.Tensor] = lambda inputs, _: count_learned(inputs),
    add: Callable[[torch.Tensor], torch.Tensor] = lambda total: total,
    by_token: bool = True,
) -> None:
    """Make the validation loss a mean over learned tokens.

    `weigh` returns the weight of a batch, given its number on this process, and `add` adds what all
    processes have. The weight is a number of tokens if `by_token`.
    """
    predict, evaluate = trainer.prediction_step, trainer.evaluation_loop
    seen: list[torch.Tensor] = []  # of each batch: the sum of its losses, and its weight

    def prediction_step(model: Any, inputs: Any, *given: Any, **kwargs: Any) -> Any:
        count = weigh(inputs, len(seen))
        loss, *others = predict(model, inputs, *given, **kwargs)
        count = count.to(loss.device, torch.float64)
        seen.append(torch.stack([torch.where(count > 0, loss * count, 0.0), count]))
        return loss, *others

    def evaluation_loop(*given: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> Any:
        seen.clear()
        balance = by_token and getattr(trainer, "aux_loss_enabled", False)
        if balance:  # experts: their balance is a loss of whole batches
            trainer.aux_loss_enabled = False
        found = evaluate(*given, metric_key_prefix=metric_key_prefix, **kwargs)
        if balance:
            trainer.aux_loss_enabled = True
        loss, count = add(torch.stack(seen).sum(0)).tolist()
        found.metrics[f"{metric_key_prefix}_loss"] = loss / max(1.0, count)
        return found

    trainer.prediction_step, trainer.evaluation_loop = prediction_step, evaluation_loop
