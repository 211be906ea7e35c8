"""Reads conversations in the forms in which data sets write them."""

from typing import Any

import pytest

from ftc.runtime.read.chat_rows import read_chat

TURNS = (("user", "hi"), ("assistant", "hello"), ("user", "bye"), ("assistant", "see you"))


@pytest.mark.parametrize(
    "messages",
    [
        [{"human": "hi", "assistant": "hello"}, {"human": "bye", "assistant": "see you"}],
        [{"User": "hi"}, {"Bot": "hello"}, {"user": "bye", "gpt": "see you"}],
        [
            {"human": "hi", "assistant": "hello"},
            {"role": "user", "content": "bye"},
            {"from": "gpt", "value": "see you"},
        ],
        '[{"human": "hi", "assistant": "hello"}, {"human": "bye", "assistant": "see you"}]',
    ],
)
def test_texts_under_their_roles(messages: Any) -> None:
    """One item may have a text of each role, also among messages of another form."""
    assert read_chat({"turns": messages}, messages="turns") == TURNS


@pytest.mark.parametrize(
    "item",
    [{}, {"user": "U1", "text": "hi"}, {"user": 1, "assistant": "a"}, {"user": ["hi"]}, "user", 3],
)
def test_what_has_no_roles_as_keys(item: Any) -> None:
    """Nothing is made of other objects."""
    assert read_chat({"turns": [item]}, messages="turns") == "no_turn"
