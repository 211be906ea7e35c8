"""Whether a number is better than chance."""

from .metrics import Measured, interval


def beats(found: Measured, chance: float) -> str:
    """Return by its interval whether a number is better than chance."""
    ends = interval(found)
    if ends is None or ends[0] <= chance <= ends[1]:
        return "not distinguishable"
    return "better" if (ends[0] > chance) == found.higher else "worse"
