"""The record of a message: what was applied, asked and not used; and numbers in words."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from ftc.tui.front_ends.plain import converse_in_json, read_messages
from ftc.tui.languages.voice import Voice
from ftc.tui.session.session import Session
from ftc.tui.state.situation import Observer
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.text.message import Message


def talk(folder: Path, *messages: str) -> list[dict[str, Any]]:
    """Return the record of each message."""
    session = Session(observer=Observer(folder=folder), voice=Voice(language="en"))
    told = io.StringIO()
    converse_in_json(session, io.StringIO("".join(f"{text}\n" for text in messages)), told)
    return [json.loads(line) for line in told.getvalue().splitlines()]


def test_a_record_says_which_words_did_what(tmp_path: Path) -> None:
    """Words without effect are listed, and so is the next question."""
    text = "3 epochs and a purple elephant"
    [record] = talk(tmp_path, text)
    [change] = record["applied"]
    assert (change["pointer"], change["old"], change["new"]) == ("/training/epochs", None, 3)
    assert [text[start:end] for start, end in change["words"]] == ["3 epochs"]
    assert [text[start:end] for start, end in record["unused"]] == ["and a purple elephant"]
    assert len(record["asked"]) == 1
    assert record["intent"] == "change"
    assert "purple elephant" in record["reply"]


@pytest.mark.parametrize(
    "text",
    [
        "the file is tickets.csv",
        "el fitxer \u00e9s tickets.csv",
        "it should run in ollama, q4_k_m",
        "tinc una RTX 4090 a l'ordinador",
        "el modelo debe ser qwen3 1.7b",
    ],
)
def test_what_a_value_is_called_belongs_to_it(tmp_path: Path, text: str) -> None:
    """The word "file" in "the file is ..." is not listed as unused."""
    [record] = talk(tmp_path, text)
    assert record["applied"]
    assert "not used" not in record["reply"].casefold()


@pytest.mark.parametrize(
    "text",
    [
        "how much will this cost on a $2/hour gpu?",
        "\u00bfcu\u00e1nto va a tardar?",
        "should I use 5 epochs?",
        "what is the learning rate?",
        "gpt-4",
        "dpo on prefs.jsonl after that",
    ],
)
def test_what_is_no_instruction_changes_nothing(tmp_path: Path, text: str) -> None:
    """Questions, closed models and later trainings leave the draft as it is."""
    first, record = (
        talk(tmp_path, "name: demo", text)
        if "after" not in text
        else talk(tmp_path, "tickets.csv", text)
    )
    assert first["reply"]
    assert record["applied"] == []


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("set rank to sixty four", {"/method/rank": 64}),
        ("learning rate two e minus five", {"/training/learning_rate": 2e-5}),
        ("dues deumil\u00b7l\u00e8simes de learning rate", {"/training/learning_rate": 2e-4}),
        ("cinco mil pasos", {"/training/max_steps": 5000}),
        ("don\u2019t use gradient checkpointing", {"/training/gradient_checkpointing": False}),
        ("quita los duplicados no, d\u00e9jalos", {"/data/cleaning/drop_duplicates": False}),
        ("ni lora ni qlora", {"/method/type": "full"}),
        ("per_device_train_batch_size: 2", {"/training/micro_batch": 2}),
        ("warmup of ten percent", {"/training/warmup": 0.1}),
        ("it costs $2.50 an hour", {"/hardware/price_per_hour": 2.5}),
        ("sin dropout", {"/method/dropout": 0}),
    ],
)
def test_plain_words_are_read(text: str, sets: dict[str, Any]) -> None:
    """Numbers in words, negations and other tools' names."""
    assert {change.pointer: change.value for change in read(text, {}).changes} == sets


def test_a_relative_change_uses_the_present_value() -> None:
    """The draft's value counts before the plan's; without one ftc asks."""
    text = "half the learning rate"
    [change] = read(text, {"training": {"learning_rate": 2e-4}}).changes
    assert change.value == 1e-4
    [change] = read(text, {}, {"/training/learning_rate": 6e-5}).changes
    assert change.value == 3e-5
    reading = read(text, {})
    assert reading.changes == ()
    assert [choice.pointer for choice in reading.choices] == ["/training/learning_rate"]


def test_an_unusual_value_is_asked_about() -> None:
    """A learning rate of 2 is valid and surely misread."""
    reading = read("learning rate 2", {})
    assert reading.changes == ()
    assert [choice.pointer for choice in reading.choices] == ["/training/learning_rate"]


def test_a_size_alone_means_the_same_family() -> None:
    """A size that denies another is of the draft's model."""
    draft = {"model": {"id": "Qwen/Qwen2.5-7B-Instruct"}}
    [change] = read("no, I meant 14B, not 7B", draft).changes
    assert change.value == "Qwen/Qwen2.5-14B-Instruct"


def test_digits_keep_their_words() -> None:
    """A number in words is shown as it was written."""
    message = Message("rank sixty four, please")
    assert message.folded == "rank 64, please"
    assert message.words(5, 7) == "sixty four"
    assert message.rest() == "rank sixty four, please"


def test_a_pasted_block_is_one_message() -> None:
    """It ends at its first blank line."""
    text = "lora:\n  r: 8\n\nnext\n"
    assert list(read_messages(io.StringIO(text))) == ["lora:\n  r: 8", "next"]
