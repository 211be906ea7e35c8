"""Compiling in a conversation: it goes on afterwards, and edits are not lost without a yes."""

import io
import json
from pathlib import Path

import pytest

from ftc.tui.front_ends.plain import converse, converse_in_json
from ftc.tui.languages.voice import Language, Voice
from ftc.tui.questions.answers import understand
from ftc.tui.session.session import Session
from ftc.tui.state.saved_state import find_kept
from ftc.tui.state.situation import Observer

pytestmark = pytest.mark.prove

EVERYTHING = "tickets.csv, qwen3 0.6b, 4090, lora, q4_k_m, answers with labels, name foo"


def say(folder: Path, *messages: str, language: Language = "en") -> str:
    """Return what a plain conversation in a folder prints."""
    kept = find_kept(folder)
    session = Session(
        observer=Observer(folder=folder),
        voice=Voice(language=language),
        kept=kept.draft if kept else None,
    )
    told = io.StringIO()
    converse(session, io.StringIO("".join(f"{each}\n" for each in messages)), told)
    return told.getvalue()


def epochs(folder: Path) -> int:
    """Return the epochs of the written spec."""
    spec = json.loads((folder / "spec.json").read_text())
    return int(spec["training"]["epochs"])


def test_the_talk_goes_on_after_compiling(folder: Path) -> None:
    """The messages behind "compile" in a pipe are answered, until "quit"."""
    told = say(folder, EVERYTHING, "compile", "5 epochs", "compile", "quit", "rank 8")
    assert told.count("and the bundle") == 2
    assert epochs(folder) == 5
    assert "method.rank = 8" not in told


def test_json_goes_on_after_compiling(folder: Path) -> None:
    """There is a record for each message."""
    session = Session(observer=Observer(folder=folder), voice=Voice(language="en"))
    told = io.StringIO()
    converse_in_json(session, io.StringIO(f"{EVERYTHING}\ncompile\n5 epochs\nquit\n"), told)
    intents = [json.loads(line)["intent"] for line in told.getvalue().splitlines()]
    assert intents == ["change", "compile", "change", "quit"]


def test_a_change_and_an_order_to_compile_go_on_with_the_draft(folder: Path) -> None:
    """The next start writes the same spec and bundle again."""
    say(folder, EVERYTHING, "compile", "quit")
    told = say(folder, "now change epochs to 5 and compile again", "quit")
    assert "I go on with the draft from last time." in told
    assert "training.epochs = 5" in told
    assert "and the bundle" in told
    assert epochs(folder) == 5
    assert not (folder / "foo.json").exists()


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("6 epochs and compile", {"/training/epochs": 6}),
        ("rank 8. compile it", {"/method/rank": 8}),
        ("rang 8 i compila-ho", {"/method/rank": 8}),
        ("rango 8 y compila otra vez", {"/method/rank": 8}),
    ],
)
def test_an_order_to_compile_behind_changes(text: str, changes: dict[str, int]) -> None:
    """It is not the setting `training.compile`."""
    reading = understand(text, {"method": {"type": "lora"}}, None)
    assert {each.pointer: each.value for each in reading.changes} == changes
    assert reading.request is not None
    assert reading.request.kind == "compile"


def test_compile_in_a_list_is_a_setting() -> None:
    """As before."""
    reading = understand("liger, bf16, compile on", {}, None)
    assert reading.request is None
    assert {each.pointer for each in reading.changes} >= {"/training/compile"}


@pytest.mark.parametrize(
    ("language", "yes", "told"),
    [
        ("en", "yes", "the bundle is still the one before"),
        ("en", "force", "the bundle is still the one before"),
        ("ca", "sí", "el paquet encara és el d'abans"),
        ("es", "sí", "el paquete todavía es el de antes"),
    ],
)
def test_an_edited_file_is_named_and_replaced_after_a_yes(
    folder: Path, language: Language, yes: str, told: str
) -> None:
    """The reply says what was written and what was not."""
    say(folder, EVERYTHING, "compile", "quit")
    train = folder / "foo" / "train.py"
    edited = train.read_text() + "# mine\n"
    train.write_text(edited)
    reply = say(folder, "6 epochs", "compile", "no", "quit", language=language)
    assert told in reply
    assert "train.py" in reply
    assert epochs(folder) == 6
    assert train.read_text() == edited
    say(folder, "yes", "compile", yes, "quit", language=language)
    assert train.read_text() != edited
    assert "EPOCHS = 6" in train.read_text().replace("6.0", "6")


def test_what_cannot_be_replaced_is_said(folder: Path) -> None:
    """A folder in the place of a file stays, even after a yes."""
    say(folder, EVERYTHING, "quit")
    (folder / "foo" / "train.py").mkdir(parents=True)
    told = say(folder, "yes", "compile", "yes", "quit")
    assert "I cannot replace this:" in told
    assert (folder / "foo" / "train.py").is_dir()
