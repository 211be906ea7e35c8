"""Finds the tokens of a conversation's answers before the last one. Standard library only.

The compiler shows masks with the same function.
"""

from collections.abc import Sequence

from .encoding import count_shared


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


def find_varied(ids: Sequence[int], varied: Sequence[int]) -> tuple[int, int]:
    """Return where a conversation's tokens change if one of its answers is another one."""
    begin = count_shared(ids, varied)
    after = count_shared(ids[:begin:-1], varied[:begin:-1])
    return begin, len(ids) - after
