"""Judges a reward model: the rewards of both answers of each pair."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from ..metric.metrics import Measured, mean, share
from .judging import compute_logits, make_batches

Rows = Sequence[Mapping[str, Any]]  # `chosen_ids` and `rejected_ids`, prompts included
Found = Mapping[str, list[float]]


def score_pairs(model: Any, rows: Rows, pad: int) -> dict[str, list[float]]:
    """Return the rewards of each row's answers, and as `margins` how far the chosen one leads."""
    found = {}
    for name in ("chosen_ids", "rejected_ids"):
        sequences = [row[name] for row in rows]
        found[name] = [0.0] * len(rows)
        for batch in make_batches([len(ids) for ids in sequences]):
            logits = compute_logits(model, [sequences[place] for place in batch], pad)
            for place, reward in zip(batch, logits[:, 0].tolist(), strict=True):
                found[name][place] = reward
    pairs = zip(found["chosen_ids"], found["rejected_ids"], strict=True)
    return {**found, "margins": [one - other for one, other in pairs]}


def measure(found: Found) -> dict[str, Measured]:
    """Return how often and by how much the chosen answer is rewarded more, and the loss."""
    margins = torch.tensor(found["margins"])
    losses = -torch.nn.functional.logsigmoid(margins)
    return {
        "reward_accuracy": share((margins > 0).float().tolist()),
        "reward_margin": mean(found["margins"]),
        "loss": mean(losses.tolist(), higher=False),
    }


def list_predictions(rows: Rows, tokenizer: Any, found: Found) -> Iterator[dict[str, Any]]:
    """Yield each pair as text, with the rewards of its answers."""
    for place, row in enumerate(rows):
        begin = len(row["prompt_ids"])
        yield {
            "prompt": tokenizer.decode(row["prompt_ids"]),
            "chosen": tokenizer.decode(row["chosen_ids"][begin:], skip_special_tokens=True),
            "rejected": tokenizer.decode(row["rejected_ids"][begin:], skip_special_tokens=True),
            "chosen_reward": found["chosen_ids"][place],
            "rejected_reward": found["rejected_ids"][place],
            "margin": found["margins"][place],
        }
