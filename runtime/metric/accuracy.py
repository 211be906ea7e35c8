"""The metric `accuracy`: the share of answers that are the right label."""

from collections.abc import Sequence


def grade(said: Sequence[str], right: Sequence[str]) -> list[float]:
    """Return for each answer 1 if it is right to the letter, else 0."""
    return [float(a == b) for a, b in zip(said, right, strict=True)]


def measure(said: Sequence[str], right: Sequence[str]) -> float:
    """Return the share of right answers."""
    return sum(grade(said, right)) / len(right)
