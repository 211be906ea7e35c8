"""Rewards: what an answer that the model tries is worth, for training and evaluation.

Each function gets the answers as texts and, by their names, the columns of the rows that they
answer; it returns a number for each answer. What is learned from is the sum, each times its weight.
"""

import re
from pathlib import Path

import reward_functions

HERE = Path(__file__).resolve().parent

# -----------------------------------------------------------------------------
# What was decided, and why

WEIGHTS = [1.0, 0.2]  # set by `objective.rewards` in the spec
NAMES = ["is_brief"]

# What training depends on: where one of these changes, it begins anew.
FILES = [
    HERE / "rewards.py",
    HERE / "reward_functions.py",
]

# -----------------------------------------------------------------------------
# The functions


NUMBER = re.compile(r"-?\d(?:[\d,]*\d)?(?:\.\d+)?")


def last_number(text):
    """Return the last number of a text, None where it has none."""
    found = NUMBER.findall(text)
    return float(found[-1].replace(",", "")) if found else None


def numeric(completions, answer, **others):
    """Reward what ends with the number that the row's own answer ends with."""
    said, right = map(last_number, completions), map(last_number, answer)
    return [float(a is not None and a == b) for a, b in zip(said, right, strict=True)]


FUNCTIONS = [  # in the order of WEIGHTS
    numeric,
    *(getattr(reward_functions, name) for name in NAMES),
]
