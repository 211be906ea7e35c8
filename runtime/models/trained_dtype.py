"""The type that weights are trained in."""

from typing import Any


def train_in_fp32(model: Any) -> None:
    """Convert every trained weight to fp32: in 16 bits, small updates would be rounded away."""
    for weight in model.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float()
