"""The metric `chrf`: shared runs of one to six characters (Popović 2015), by sacrebleu."""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from .metrics import Measured


def grade(said: Sequence[str], right: Sequence[str]) -> list[float]:
    """Return chrF of each answer, from 0 to 1."""
    scorer = CHRF()
    return [scorer.sentence_score(a, [b]).score / 100 for a, b in zip(said, right, strict=True)]


def measure(said: Sequence[str], right: Sequence[str]) -> float:
    """Return chrF over all answers, where long answers weigh more."""
    return float(CHRF().corpus_score(said, [right]).score) / 100


# sacrebleu has no public name for the counts of a sentence, from which the score of any sample of
# sentences follows; tests/runtime/metric/test_answer_metrics.py compares both with its public
# scores.


def count(said: Sequence[str], right: Sequence[str]) -> list[list[int]]:
    """Return of each answer the counts that sacrebleu adds up before it computes a score."""
    found: list[list[int]] = CHRF()._extract_corpus_statistics(said, [right])  # noqa: SLF001
    return found


def total(sums: list[int]) -> float:
    """Return chrF, from 0 to 100, by the sums of the counts."""
    return float(CHRF()._compute_f_score(sums))  # noqa: SLF001


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
