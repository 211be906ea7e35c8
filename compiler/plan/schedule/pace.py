"""Roughly how long an epoch, an evaluation and a checkpoint take, whatever the layout.

The schedule of a run depends on it, and a change of the layout must not change the training.
"""

from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.splits import Splits
from ftc.compiler.resolve.facts import HardwareFacts

_RATE_SHARE: Final = 0.4  # of the data sheet's rate that a training reaches
_NOMINAL_TFLOPS: Final = 100.0
_DISK_BYTES_PER_SECOND: Final = 1e9
_STATE_BYTES: Final = 12  # an fp32 weight and two moments
_WHOLE_OPERATIONS, _ADAPTER_OPERATIONS, _SEEN_OPERATIONS = 6, 4, 2  # per weight and token


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long an epoch takes, and an evaluation with the checkpoint that it may save."""

    epoch_seconds: float
    evaluation_seconds: float


def estimate_pace(
    hardware: HardwareFacts,
    splits: Splits,
    *,
    parameters: int,
    trainable: int,
    row_tokens: float,
    adapts: bool,
) -> Pace | None:
    """Return the pace of a GPU; None for a CPU, where checkpoints cost little beside training.

    `row_tokens` is the mean length of a data row; `adapts` says whether an adapter is trained.
    """
    if hardware.kind == "cpu":
        return None
    rate = hardware.world * (hardware.bf16_tflops or _NOMINAL_TFLOPS) * 1e12 * _RATE_SHARE
    row = parameters * row_tokens / rate
    learning = _ADAPTER_OPERATIONS if adapts else _WHOLE_OPERATIONS
    saving = trainable * _STATE_BYTES / _DISK_BYTES_PER_SECOND
    return Pace(
        epoch_seconds=learning * splits.train.value * row,
        evaluation_seconds=_SEEN_OPERATIONS * splits.validation.value * row + saving,
    )
