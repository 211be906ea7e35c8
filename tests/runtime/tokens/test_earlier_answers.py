"""Where an answer before the last one is, in the tokens of a whole conversation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.runtime.tokens.earlier_answers import find_learned, find_varied

Tokens = list[int]
TOKENS = st.lists(st.integers(0, 4), max_size=8)


@given(TOKENS, TOKENS, TOKENS)
def test_an_answer_that_is_written_as_it_was_is_found(
    before: Tokens, answer: Tokens, after: Tokens
) -> None:
    """Whatever comes before and after it."""
    upto = before + answer

    assert find_learned(upto + after, before, upto) == (len(before), len(upto))


@pytest.mark.parametrize(
    ("ids", "before", "upto", "found"),
    [
        ([1, 2, 7, 8, 3], [1, 2], [1, 2, 7, 8], (2, 4)),
        ([1, 9, 7, 8, 3], [1, 2], [1, 9, 7, 8], (1, 4)),  # "> " and ">a": the edge is joined
        ([1, 2, 7, 9, 3], [1, 2], [1, 2, 7, 8], (2, 3)),
        ([1, 2, 8, 3], [1, 2], [1, 2, 5, 6, 8], None),  # the reasoning is left out
        ([4, 2, 7, 8], [1, 2, 3], [1, 2, 3, 7], None),
        ([], [1, 2], [1, 2, 3], None),
        ([1, 2], [1, 2], [1, 2], (2, 2)),
    ],
)
def test_one_token_at_each_edge_may_differ(
    ids: Tokens, before: Tokens, upto: Tokens, found: tuple[int, int] | None
) -> None:
    """More than that is another text than the model would write, and is not learned."""
    assert find_learned(ids, before, upto) == found


@given(TOKENS, TOKENS, TOKENS, TOKENS)
def test_an_answer_is_what_varies(
    before: Tokens, answer: Tokens, other: Tokens, after: Tokens
) -> None:
    """All of it, where its edges differ from those of the other answer, and nothing else."""
    answer, other = [5, *answer, 6], [7, *other, 8]
    ids, varied = before + answer + after, before + other + after

    assert find_varied(ids, varied) == (len(before), len(before + answer))


@given(TOKENS, TOKENS)
def test_all_that_differs_is_found(ids: Tokens, varied: Tokens) -> None:
    """The tokens before and after it are the same, whatever the texts are."""
    begin, end = find_varied(ids, varied)
    after = len(ids) - end

    assert ids[:begin] == varied[:begin]
    assert ids[end:] == varied[len(varied) - after :]
    assert begin + after <= len(varied)
