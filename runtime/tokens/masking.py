"""Which tokens of a row are learned: an answer, with the token that ends it.

The answer is found by comparing the tokens of the row with those of its beginnings, since a chat
template may write anything around a text. The compiler shows masks with the same functions.
Standard library only.
"""

from collections.abc import Sequence
from typing import Final

NOT_LEARNED: Final = -100  # the label that the loss ignores


def count_shared(first: Sequence[int], second: Sequence[int]) -> int:
    """Return how many tokens two lists have in common at their start."""
    if first[: len(second)] == second:
        return len(second)
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))


def join_prompt(texts: Sequence[str]) -> str:
    """Return the prompt of a model without a chat template: every text on lines of its own."""
    return "\n".join([*texts, ""])
