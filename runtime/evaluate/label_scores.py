"""Predicts labels with a trained classification head."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from .judging import compute_logits, make_batches


def predict(model: Any, rows: Sequence[Mapping[str, Any]], pad: int) -> dict[str, list[Any]]:
    """Return the likeliest label of each row as `said`, and the loss of the right one as `nats`."""
    nats, said = [0.0] * len(rows), [""] * len(rows)
    for batch in make_batches([len(row["input_ids"]) for row in rows]):
        sequences = [rows[place]["input_ids"] for place in batch]
        logits = compute_logits(model, sequences, pad).float()
        numbers = torch.tensor([rows[place]["label"] for place in batch], device=logits.device)
        losses = torch.nn.functional.cross_entropy(logits, numbers, reduction="none").tolist()
        for place, loss, number in zip(batch, losses, logits.argmax(-1).tolist(), strict=True):
            nats[place], said[place] = loss, model.config.id2label[number]
    return {"nats": nats, "said": said}


def list_predictions(
    rows: Sequence[Mapping[str, Any]], said: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield each row of a classification with its predicted label."""
    for row, label in zip(rows, said, strict=True):
        score = float(label == row["answer"])
        yield {"prompt": row["prompt"], "answer": row["answer"], "said": label, "score": score}
