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


def find_learned(
    ids: Sequence[int], before: Sequence[int], upto: Sequence[int]
) -> tuple[int, int] | None:
    """Return where the tokens of an answer begin and end in `ids`, or None if it is not learned.

    `before` are the tokens of everything before the answer, `upto` of everything to its end. If the
    template writes an earlier answer differently once turns follow it, for example without its
    reasoning, these are not the tokens that the model would write, and the answer is not learned.
    """
    begin, end = count_shared(ids, before), count_shared(ids, upto)
    # One token at each edge may differ: it contains the first letters of what follows.
    return (begin, end) if begin >= len(before) - 1 and end >= len(upto) - 1 else None


def join_prompt(texts: Sequence[str]) -> str:
    """Return the prompt of a model without a chat template: every text on lines of its own."""
    return "\n".join([*texts, ""])
