"""How merging compares models with a new head: by the logits of labels, or by the reward."""

from typing import Any, Final

import torch
from transformers import AutoModelForSequenceClassification

from .merging import ModelKind, Outputs
from .saved_anew import save_anew


def find_class(_source: Any, **_options: Any) -> Any:
    """Return the Auto class of a model with a new head."""
    return AutoModelForSequenceClassification


def compare_rewards(first: Outputs, second: Outputs) -> float:
    """Return the mean difference of rewards, divided by 1 plus their mean size."""
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
