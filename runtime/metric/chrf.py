"""The metric `chrf`: shared runs of one to six characters (Popović 2015), by sacrebleu."""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from ..upstream.chrf_counts import count, total
from .metrics import Measured


def grade(said: Sequence[str], right: Sequence[str]) -> list[float]:
    """Return chrF of each answer, from 0 to 1."""
    scorer = CHRF()
    return [scorer.sentence_score(a, [b]).score / 100 for a, b in zip(said, right, strict=True)]


def measure(said: Sequence[str], right: Sequence[str]) -> float:
    """Return chrF over all answers, where long answers weigh more."""
    return float(CHRF().corpus_score(said, [right]).score) / 100


def measure_rows(said: Sequence[str], right: Sequence[str]) -> Measured:
    """Measure chrF of the rows' counts, summed over the rows."""
    counts = count(said, right)
    table = np.asarray(counts, float)
    return Measured(
        parts=[tuple(row) for row in counts],
        measure=lambda times: total((times @ table).tolist()) / 100,
        higher=True,
        percent=True,
    )
