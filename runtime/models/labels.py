"""The head of a classifier: its settings, its loss, and the metrics that a Trainer computes."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from transformers import set_seed

# -----------------------------------------------------------------------------
# The head


def head_settings(tokenizer: Any, names: Sequence[str], seed: int = 0) -> dict[str, Any]:
    """Return the entries of config.json that describe the head; `names` are in its order.

    Also seeds every random generator, so that the head starts from the same random weights on every
    process.
    """
    set_seed(seed)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return {
        "id2label": dict(enumerate(names)),
        "label2id": {name: number for number, name in enumerate(names)},
        "problem_type": "single_label_classification",
        "pad_token_id": tokenizer.pad_token_id,  # scores are read at the last token before padding
    }


# -----------------------------------------------------------------------------
# The loss


def balance(labels: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return weights that give every label the same total weight; the mean over the rows is 1.

    `labels` are the lines of run/data/labels.jsonl: `train` is the number of rows.
    """
    rows = [label["train"] for label in labels]
    share = sum(rows) / sum(count > 0 for count in rows)
    return [share / max(1, count) for count in rows]


def sum_loss(logits: Any, labels: Any, weights: Sequence[float] | None = None) -> Any:
    """Return the cross-entropy of rows, summed; `weights` has one number per label."""
    scale = None if weights is None else torch.tensor(weights, device=logits.device)
    return torch.nn.functional.cross_entropy(logits.float(), labels, scale, reduction="sum")


def make_loss(weights: Sequence[float] | None = None) -> Callable[..., Any]:
    """Return the `compute_loss_func` of a Trainer: the cross-entropy per row of a step.

    The model's own loss is a mean over a single pass, which is wrong with accumulation.
    """

    def mean_loss(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
        rows = len(labels) if num_items_in_batch is None else num_items_in_batch
        return sum_loss(outputs.logits, labels, weights) / rows

    return mean_loss


# -----------------------------------------------------------------------------
# How good it is


def measure(said: Sequence[Any], right: Sequence[Any]) -> dict[str, float]:
    """Return the share of right labels, and the mean F1 over the labels that occur."""
    asked, told = Counter(right), Counter(said)
    hits = Counter(one for one, other in zip(said, right, strict=True) if one == other)
    f1 = [2 * hits[label] / (asked[label] + told[label]) for label in asked]
    return {"accuracy": hits.total() / len(right), "macro_f1": sum(f1) / len(f1)}


def make_judge(weights: Sequence[float] | None = None) -> Callable[[Any], dict[str, float]]:
    """Return the `compute_metrics` of a Trainer: `measure`, and the loss as a mean over rows."""

    def judge(found: Any) -> dict[str, float]:
        right = found.label_ids
        scores = torch.from_numpy(found.predictions)
        loss = sum_loss(scores, torch.from_numpy(right), weights) / len(right)
        measured = measure(found.predictions.argmax(-1).tolist(), right.tolist())
        return {**measured, "loss": loss.item()}

    return judge
