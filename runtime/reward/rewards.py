"""Reward functions, which score the answers that the model tries in training and evaluation.

A function gets the answers as `completions` and the columns of their rows by name, and returns a
number for each answer. Training maximizes the sum of all functions, each times its weight.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..metric import exact_match, numeric_match

Reward = Callable[..., list[float]]


def exact(completions: Sequence[str], answer: Sequence[str], **_: Any) -> list[float]:
    """Reward answers that equal the row's answer, ignoring white space and case."""
    return exact_match.grade(completions, answer)


def numeric(completions: Sequence[str], answer: Sequence[str], **_: Any) -> list[float]:
    """Reward an answer that ends with the number that the row's own answer ends with."""
    return numeric_match.grade(completions, answer)


def match_patterns(patterns: Sequence[str]) -> list[Reward]:
    """Return a function for each regular expression, which rewards answers that contain it.

    Their names are regex_1, regex_2, ...
    """
    return [_match(number, re.compile(pattern)) for number, pattern in enumerate(patterns, 1)]


def _match(number: int, wanted: re.Pattern[str]) -> Reward:
    def matches(completions: Sequence[str], **_: Any) -> list[float]:
        return [float(wanted.search(said.strip()) is not None) for said in completions]

    matches.__name__ = f"regex_{number}"  # the name in logs and reports
    return matches
