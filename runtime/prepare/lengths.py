"""Compares the lengths of the rows with those in the plan."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..run import Run
from .planned import Planned
from .preparing import Records

MARGIN: Final = 0.01  # share of the rows that may be over-long beyond the share in the plan
TOKENS_TOLERANCE: Final = 0.25  # a larger difference changes memory, packing and time


def check_lengths(run: Run, records: Records, *, max_length: int, planned_share: float) -> None:
    """End the stage if clearly more rows are over-long than the plan says.

    `planned_share` is the share of the rows in the plan. The rows may be a sample, so three
    standard errors more are no surprise.
    """
    lengths = records.lengths
    overlong = int((np.asarray(lengths) > max_length).sum())
    chance = 3 * (planned_share / len(lengths)) ** 0.5
    if overlong > (planned_share + MARGIN + chance) * len(lengths):
        run.stop(
            f"{overlong:,} of {len(lengths):,} rows are longer than {max_length} tokens,"
            f" the longest has {max(lengths):,}, and the plan said {planned_share:.1%} of rows:"
            " set data.max_length in the spec and compile again"
        )


def check_planned_lengths(planned: Planned, lengths: Sequence[int], *, planned_p95: int) -> None:
    """End the stage if the rows of a changed file are much longer or shorter than planned.

    `lengths` are in tokens, `planned_p95` is their 95th percentile in the plan.
    """
    found = sorted(lengths)[(len(lengths) - 1) * 95 // 100]
    if planned.changed and abs(found - planned_p95) > TOKENS_TOLERANCE * planned_p95:
        said = f"95% of the rows have at most {found:,} tokens, {planned_p95:,} in the plan"
        planned.warn_or_stop(f"{planned.changed[0][1].name} has changed: {said}")
