"""The labels: their names, the head that tells them apart, its loss, and how good it is.

Reads run/data/labels.jsonl, which names them in the order of the head's scores.
"""

from collections import Counter
from pathlib import Path

import torch
from transformers import set_seed

import guard

# -----------------------------------------------------------------------------
# What was decided, and why

METRIC = "macro_f1"  # of 12 labels, each counts alike in it, however rare

FOUND = guard.read_rows(Path(__file__).resolve().parent / "run" / "data" / "labels.jsonl")
NAMES = [label["name"] for label in FOUND]

# -----------------------------------------------------------------------------
# The head


def head(tokenizer, seed=0):
    """Return what config.json says of the head, which begins at random numbers."""
    set_seed(seed)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return {
        "id2label": dict(enumerate(NAMES)),
        "label2id": {name: number for number, name in enumerate(NAMES)},
        "problem_type": "single_label_classification",
        "pad_token_id": tokenizer.pad_token_id,  # scores are read at the last token before padding
    }


def mean_loss(outputs, labels, num_items_in_batch=None):
    """Return the cross-entropy per row of a step; the model's own is that of a single pass."""
    logits = outputs.logits.float()
    rows = len(labels) if num_items_in_batch is None else num_items_in_batch
    nats = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
    return nats / rows


# -----------------------------------------------------------------------------
# How good it is


def measure(said, right):
    """Return the share of labels that are right, and the mean F1 of those that there are."""
    asked, told = Counter(right), Counter(said)
    hits = Counter(one for one, other in zip(said, right, strict=True) if one == other)
    f1 = [2 * hits[label] / (asked[label] + told[label]) for label in asked]
    return {"accuracy": hits.total() / len(right), "macro_f1": sum(f1) / len(f1)}


def judge(found):
    """Return the same of the validation rows, as the trainer has them."""
    return measure(found.predictions.argmax(-1).tolist(), found.label_ids.tolist())
