"""The metric `exact_match`: the share of answers that are right, ignoring case and white space."""

from collections.abc import Sequence


def fold(text: str) -> str:
    """Return a text with its case folded and every run of white space replaced by one space."""
    return " ".join(text.casefold().split())


def grade(said: Sequence[str], right: Sequence[str]) -> list[float]:
    """Return for each answer 1 if it is right, else 0."""
    return [float(fold(a) == fold(b)) for a, b in zip(said, right, strict=True)]


def measure(said: Sequence[str], right: Sequence[str]) -> float:
    """Return the share of right answers."""
    return sum(grade(said, right)) / len(right)
