"""Reads private parts of sacrebleu: the counts of a sentence, and the score of their sums.

It has no public name for them, and the score of any sample of sentences follows from them.
tests/runtime/upstream/test_upstream.py fails if they have changed. sacrebleu 2.6.0:
https://github.com/mjpost/sacrebleu/blob/v2.6.0/sacrebleu/metrics/chrf.py
"""

from collections.abc import Sequence

from sacrebleu.metrics.chrf import CHRF


def count(said: Sequence[str], right: Sequence[str]) -> list[list[int]]:
    """Return of each answer the counts that sacrebleu adds up before it computes a score."""
    found: list[list[int]] = CHRF()._extract_corpus_statistics(said, [right])  # noqa: SLF001
    return found


def total(sums: list[int]) -> float:
    """Return chrF, from 0 to 100, by the sums of the counts."""
    return float(CHRF()._compute_f_score(sums))  # noqa: SLF001
