"""Conversations: rows that continue one another get the same key."""

from array import array
from collections.abc import Sequence

import pytest

from ftc.runtime.read.conversations import Conversations
from ftc.runtime.read.rows import Turns, prompt_key


def talk(*texts: str) -> Turns:
    """Return a conversation; the user begins."""
    return tuple((("user", "assistant")[n % 2], text) for n, text in enumerate(texts))


def group(rows: Sequence[Turns]) -> list[int]:
    """Return the number of the group of each row."""
    prompts, conversations = array("Q", map(prompt_key, rows)), Conversations()
    for row in rows:
        conversations.add(conversations.key_answers(row))
    conversations.join(prompts)
    numbers = {key: number for number, key in enumerate(dict.fromkeys(prompts))}
    return [numbers[key] for key in prompts]


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        # a row for each answer, in any order, with other white space
        (
            [talk("a", "b", "c", "d", "e", "f"), talk("a", "b "), talk("a", "b", "c", "d")],
            [0, 0, 0],
        ),
        # the row between two others is missing; another answer to the same prompt
        ([talk("a", "b"), talk("a", "z"), talk("a", "b", "c", "d", "e", "f")], [0, 0, 0]),
        # the same beginning, which is no row
        ([talk("hi", "hello", "c", "d"), talk("hi", "hello", "e", "f")], [0, 1]),
        # other words at the same places, and texts that are one text together
        ([talk("a", "b"), talk("a", "c", "d", "e"), talk("a b", "c")], [0, 1, 2]),
        # what is compared has the answers before it, and prompts alone have none
        ([talk("a", "b"), (*talk("a", "b", "c"), ("chosen", "d"), ("rejected", "e"))], [0, 0]),
        ([talk("a", "b", "c"), talk("a", "b", "c", "d", "e")], [0, 1]),
        ([(("text", "a"),), (("text", "b"),)], [0, 1]),
        ([], []),
    ],
)
def test_rows_of_one_conversation_have_one_key(rows: Sequence[Turns], groups: list[int]) -> None:
    """Otherwise an answer of the test split would be learned as part of a longer row."""
    assert group(rows) == groups
