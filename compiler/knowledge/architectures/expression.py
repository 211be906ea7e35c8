"""Sizes of tensors, written as sums of products of config keys."""

from collections.abc import Callable
from fractions import Fraction

__all__ = ["evaluate"]


def evaluate(text: str, read: Callable[[str], object], *, floor: bool = False) -> int | None:
    """Return the value of `2*a*b+c/d`; None unless it and its keys are positive integers.

    With `floor` the value is rounded down, as by `//`.
    """
    total = Fraction(0)
    for term in text.split("+"):
        value = Fraction(1)
        for place, factors in enumerate(term.split("/")):
            for word in factors.split("*"):
                number = int(word) if word.isdecimal() else read(word)
                if type(number) is not int or number <= 0:
                    return None
                value = value / number if place else value * number
        total += value
    whole = int(total)
    return whole if whole > 0 and (floor or total == whole) else None
