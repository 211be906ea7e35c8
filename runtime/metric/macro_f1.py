"""The metric `macro_f1`: the mean over labels of F1."""

from collections import Counter
from collections.abc import Sequence


def grade(said: Sequence[str], right: Sequence[str]) -> list[float]:
    """Return for each answer 1 if it is right to the letter, else 0."""
    return [float(a == b) for a, b in zip(said, right, strict=True)]


def measure(said: Sequence[str], right: Sequence[str]) -> float:
    """Return the mean over labels of the harmonic mean of precision and recall."""
    asked, told = Counter(right), Counter(said)
    hits = Counter(one for one, other in zip(said, right, strict=True) if one == other)
    return sum(2 * hits[one] / (asked[one] + told[one]) for one in asked) / len(asked)
