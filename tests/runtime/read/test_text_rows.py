"""Prompts and completions are read as texts, and as the lists of messages that TRL takes."""

import json
from typing import Any

import pytest

from ftc.runtime.read.chat_rows import read_chat
from ftc.runtime.read.compared_rows import read_pair
from ftc.runtime.read.message_cells import read_answer
from ftc.runtime.read.text_rows import read_cell, read_texts
from ftc.runtime.tokens.class_records import text_of


def message(role: str, text: str) -> dict[str, str]:
    """Return a message."""
    return {"role": role, "content": text}


ASKED = [message("system", "Be brief."), message("user", "Who?")]
TURNS = (("system", "Be brief."), ("user", "Who?"), ("assistant", "Ada"))


@pytest.mark.parametrize(
    ("prompt", "completion"),
    [
        (ASKED, "Ada"),
        (ASKED, [message("assistant", "Ada")]),
        (json.dumps(ASKED), json.dumps([message("assistant", "Ada")])),
    ],
)
def test_lists_of_messages(prompt: object, completion: object) -> None:
    """Lists, their JSON, and an answer that is a text, such as a reference of GRPO."""
    row = {"prompt": prompt, "completion": completion}
    assert read_answer(row, prompt="prompt", completion="completion") == TURNS


@pytest.mark.parametrize(
    ("row", "read"),
    [
        ({"prompt": '[{"a": 1}]', "completion": "x"}, (("user", '[{"a": 1}]'), ("assistant", "x"))),
        ({"prompt": ["who?"], "completion": "Ada"}, "not_text"),
        ({"prompt": [message("user", "Who?")], "completion": {"name": "Ada"}}, "not_text"),
        ({"prompt": [message("referee", "Who?")], "completion": "Ada"}, "unknown_role"),
        ({"prompt": [message("assistant", "Ada")], "completion": "Bob"}, "order"),
        ({"prompt": " ", "completion": [message("assistant", "Ada")]}, "blank"),
    ],
)
def test_what_is_no_list_of_messages(row: dict[str, Any], read: object) -> None:
    """Other JSON stays a text; other lists and roles in a wrong order are malformed."""
    assert read_answer(row, prompt="prompt", completion="completion") == read


def test_texts_that_are_no_messages_read_the_same() -> None:
    """Bundles whose data have no messages carry the reader of texts alone."""
    columns = {"prompt": "prompt", "completion": "completion"}
    for prompt, completion in (("Who?", "Ada"), ("Who?", 7), (" ", "Ada"), (["who?"], "Ada")):
        row = {"prompt": prompt, "completion": completion}
        assert read_texts(row, **columns) == read_answer(row, **columns)
    assert read_texts({"prompt": json.dumps(ASKED), "completion": "Ada"}, **columns) != TURNS


def test_a_classified_prompt_of_several_messages() -> None:
    """Its texts stand one under the other, and the label is no part of them."""
    assert text_of(TURNS) == "Be brief.\nWho?"
    assert text_of(TURNS[1:]) == "Who?"


@pytest.mark.parametrize(
    ("asks", "answers"),
    [("customer", "agent"), ("human", "gpt"), ("User", "Model"), ("prompter", "assistant")],
)
def test_roles_of_data_sets(asks: str, answers: str) -> None:
    """Names of the two speakers that data sets use, in any case."""
    row = {"messages": [message(asks, "Who?"), message(answers, "Ada")]}
    assert read_chat(row, messages="messages") == TURNS[1:]
    other = {"messages": [message("buyer", "Who?"), message("seller", "Ada")]}
    assert read_chat(other, messages="messages") == "unknown_role"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, ""),
        (float("nan"), ""),
        (b"caf\xc3\xa9", "café"),
        (b"\xff\xd8", None),
        (["a"], None),
        ({}, None),
        (0, "0"),
        (False, "false"),
    ],
)
def test_cells_that_are_no_text(cell: object, text: str | None) -> None:
    """What is missing is blank and bytes are text: neither is what Python prints for it."""
    assert read_cell(cell) == text
    pair = {"prompt": "Who?", "chosen": cell, "rejected": "Bob"}
    turns = read_pair(pair, prompt="prompt", chosen="chosen", rejected="rejected")
    blank = "not_text" if text is None or isinstance(cell, list) else "blank"
    assert turns == ((("user", "Who?"), ("chosen", text), ("rejected", "Bob")) if text else blank)


@pytest.mark.parametrize(
    ("cell", "text"), [(True, "true"), (False, "false"), (None, ""), (3, "3"), (0.5, "0.5")]
)
def test_values_of_json_are_texts_as_the_author_wrote_them(cell: object, text: str) -> None:
    """A boolean is a word of JSON and none of Python; a null is a missing text."""
    assert read_cell(cell) == text
    row = {"prompt": "Is it so?", "completion": cell}
    assert read_texts(row, prompt="prompt", completion="completion") == (
        ("user", "Is it so?"),
        ("assistant", text),
    )
