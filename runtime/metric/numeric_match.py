"""The metric `numeric_match`: the share of answers that end with the right number."""

import re
from collections.abc import Sequence

NUMBER = re.compile(r"-?\d(?:[\d,]*\d)?(?:\.\d+)?")


def find_last_number(text: str) -> float | None:
    """Return the last number of a text, or None if it has none."""
    found = NUMBER.findall(text)
    return float(found[-1].replace(",", "")) if found else None


def grade(said: Sequence[str], right: Sequence[str]) -> list[float]:
    """Return for each answer 1 if its last number is that of the right answer, else 0."""
    pairs = zip(map(find_last_number, said), map(find_last_number, right), strict=True)
    return [float(a is not None and a == b) for a, b in pairs]


def measure(said: Sequence[str], right: Sequence[str]) -> float:
    """Return the share of right answers."""
    return sum(grade(said, right)) / len(right)
