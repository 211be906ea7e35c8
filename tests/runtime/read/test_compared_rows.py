"""Pairs and verdicts are read in every shape that public data sets give them."""

from collections.abc import Mapping
from typing import Any

import pytest

from ftc.runtime.read.compared_rows import read_pair, read_verdict


def said(*texts: str, first: str = "user") -> list[dict[str, str]]:
    """Return messages in turns, of the role `first` and the other one."""
    roles = ["user", "assistant"] if first == "user" else ["assistant", "user"]
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


def pair(row: Mapping[str, Any]) -> object:
    """Read a row by the usual names."""
    return read_pair(row, prompt="prompt", chosen="chosen", rejected="rejected")


EXPECTED = (("user", "who?"), ("chosen", "Ada"), ("rejected", "Bob"))


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "who?", "chosen": "Ada", "rejected": "Bob"},
        {
            "prompt": said("who?"),
            "chosen": said("Ada", first="assistant"),
            "rejected": said("Bob", first="assistant"),
        },
        {"prompt": "who?", "chosen": said("who?", "Ada"), "rejected": said("who?", "Bob")},
        {"prompt": "", "chosen": said("who?", "Ada"), "rejected": said("who?", "Bob")},
        {
            "prompt": None,
            "chosen": [{"from": "human", "value": "who?"}, {"from": "gpt", "value": "Ada"}],
            "rejected": '[{"role": "user", "content": "who?"},'
            ' {"role": "assistant", "content": "Bob"}]',
        },
        {
            "chosen": "\n\nHuman: who?\n\nAssistant: Ada",
            "rejected": "\n\nHuman: who?\n\nAssistant: Bob",
        },
        {"prompt": "who?", "chosen": "Ada", "rejected": said("who? ", "Bob")},
    ],
)
def test_a_pair_in_every_shape(row: Mapping[str, Any]) -> None:
    """Texts, lists with and without the prompt, JSON of them, and transcripts say the same."""
    assert pair(row) == EXPECTED


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"prompt": "who?", "chosen": "Ada", "rejected": " Ada "}, "same_answers"),
        ({"prompt": "who?", "chosen": "", "rejected": "Bob"}, "blank"),
        ({"prompt": "", "chosen": "Ada", "rejected": "Bob"}, "blank"),
        ({"chosen": said("a?", "Ada"), "rejected": said("b?", "Bob")}, "two_prompts"),
        ({"prompt": "a?", "chosen": said("b?", "Ada"), "rejected": "Bob"}, "one_conversation"),
        ({"prompt": "a?", "chosen": "Ada", "rejected": said("b?", "Bob")}, "one_conversation"),
        ({"prompt": "who?", "chosen": said("who?"), "rejected": "Bob"}, "unanswered"),
        ({"prompt": "who?", "chosen": [7], "rejected": "Bob"}, "no_turn"),
        ({"prompt": "who?", "chosen": ["Ada"], "rejected": "Bob"}, "not_text"),
        ({"prompt": "who?", "chosen": "Ada", "rejected": ["Bob", "Eve"]}, "not_text"),
        ({"prompt": {"a": 1}, "chosen": "Ada", "rejected": "Bob"}, "not_text"),
    ],
)
def test_what_is_no_pair(row: Mapping[str, Any], fault: str) -> None:
    """The reason is named, so that the data report and FTC231 can count it."""
    assert pair(row) == fault


def test_a_message_by_itself() -> None:
    """An answer and a prompt as objects, as LLaMA-Factory's data has them."""
    row = {
        "prompt": {"from": "human", "value": "who?"},
        "chosen": {"from": "gpt", "value": "Ada"},
        "rejected": {"from": "gpt", "value": "Bob"},
    }
    assert pair(row) == (("user", "who?"), ("chosen", "Ada"), ("rejected", "Bob"))


def test_a_verdict_on_a_conversation() -> None:
    """A list that begins with the prompt needs no column of prompts; a bare answer does."""
    row = {"turns": said("who?", "Ada"), "bare": "Ada", "label": True}
    expected = (("user", "who?"), ("assistant", "Ada"), ("label", "true"))
    assert read_verdict(row, completion="turns", label="label") == expected
    assert read_verdict(row, completion="bare", label="label") == "no_prompt"


def test_answers_without_a_prompt_anywhere() -> None:
    """Two bare texts and no column of prompts are not enough."""
    row: dict[str, Any] = {"chosen": "Ada", "rejected": "Bob"}
    assert read_pair(row, prompt=None, chosen="chosen", rejected="rejected") == "no_prompt"
    half = {**row, "chosen": said("who?", "Ada")}
    assert read_pair(half, prompt=None, chosen="chosen", rejected="rejected") == "one_conversation"


@pytest.mark.parametrize(
    ("label", "verdict"),
    [
        (True, "true"),
        (1, "true"),
        ("Yes", "true"),
        (1.0, "true"),
        (False, "false"),
        ("-1", "false"),
        ("Thumbs down", "false"),
        ("\N{THUMBS UP SIGN}", "true"),
        ("\N{THUMBS DOWN SIGN}\N{EMOJI MODIFIER FITZPATRICK TYPE-4}", "false"),
    ],
)
def test_a_verdict_in_many_words(label: object, verdict: str) -> None:
    """Booleans, numbers and words, as tables hold them."""
    row = {"prompt": "who?", "completion": said("Ada", first="assistant"), "label": label}
    read = read_verdict(row, prompt="prompt", completion="completion", label="label")
    assert read == (("user", "who?"), ("assistant", "Ada"), ("label", verdict))


@pytest.mark.parametrize("label", [None, "perhaps", 3, ""])
def test_what_is_no_verdict(label: object) -> None:
    """A row without one is left out, and counted."""
    row = {"prompt": "who?", "completion": "Ada", "label": label}
    assert read_verdict(row, prompt="prompt", completion="completion", label="label") == "no_label"
