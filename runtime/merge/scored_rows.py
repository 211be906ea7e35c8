"""What a model with a new head computes for a row, for its merge: logits of labels, or a reward."""

from typing import Any, Final

import torch
from transformers import AutoModelForSequenceClassification

from .merging import ModelKind, Outputs
from .saved_anew import save_anew


def find_class(_source: Any, **_options: Any) -> Any:
    """Return the Auto class of any such model."""
    return AutoModelForSequenceClassification


def compare_rewards(first: Outputs, second: Outputs) -> float:
    """Return the mean difference of rewards as a share of their mean size, to which 1 is added."""
    before, after = torch.cat(list(first)), torch.cat(list(second))
    return float((before - after).abs().mean() / (1 + before.abs().mean()))


LABELS: Final = ModelKind(find_class=find_class, save=save_anew, unit="nats per row")
REWARDS: Final = ModelKind(
    find_class=find_class,
    save=save_anew,
    finish=lambda logits: logits,
    measure=compare_rewards,
    unit="of their size",
    tolerance=0.05,
)
