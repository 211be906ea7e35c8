"""The language model reader, tested with a random model: it does no harm."""

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ftc.__main__ import run
from ftc.spec.finding import EnvironmentFailure
from ftc.spec.validate import to_spec
from ftc.tui import language_model
from ftc.tui.draft import Draft, written
from ftc.tui.language_model import ModelReader, answer_schema, load_model
from ftc.tui.session import Session
from ftc.tui.situation import Observer
from ftc.tui.understanding.reader import WORDS_ALONE
from ftc.tui.understanding.reading import Change

Make = Callable[[int], ModelReader]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Return a function that opens a random model with a given context."""
    pytest.importorskip("llama_cpp", reason="needs the extra `run`")
    pytest.importorskip("gguf", reason="needs the extra `run`")
    from tests.tui.tiny_gguf import write_tiny  # noqa: PLC0415 - needs the extra

    folder = tmp_path_factory.mktemp("tiny")

    def make(context_tokens: int) -> ModelReader:
        path = folder / f"{context_tokens}.gguf"
        return load_model(write_tiny(path, context_tokens=context_tokens))

    return make


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Force the model to write at least three changes."""
    schema: Any = dict(answer_schema())
    changes = {**schema["properties"]["changes"], "minItems": 3}
    full = {**schema, "properties": {"changes": changes}}
    monkeypatch.setattr(language_model, "answer_schema", lambda: full)
    monkeypatch.setattr(language_model, "_MOST_TOKENS", 2000)  # a token is but a letter here


@pytest.mark.usefixtures("talkative")
def test_whatever_it_says_is_a_valid_change(
    make: Make, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A random model proposes values of the schema; nothing is applied before a yes."""
    reader = make(16384)
    talk = Session(observer=Observer(folder=folder), understanders=(WORDS_ALONE, reader))
    talk.start()
    talk.reply("flumph and grumph of the zorb")
    proposed = talk.proposal
    assert proposed or reader.excuse
    assert talk.draft == Draft()
    if proposed:
        needed = {"/name": "a", "/model/id": "b", "/data/source": "c"}
        least = [Change(pointer=each, value=said, words=said) for each, said in needed.items()]
        to_spec(written(Draft().changed([*least, *proposed])))
        assert "Apply it?" in talk.transcript[-1].text
        assert talk.transcript[-1].by == "16384.gguf"
        assert (
            f"{proposed[0].pointer[1:].replace('/', '.')}: \u2013 \u2192 "
            in talk.transcript[-1].text
        )
        talk.reply("yes")
        assert talk.draft == Draft().changed(proposed)
    assert capfd.readouterr().err == ""


def test_a_prompt_that_does_not_fit_is_a_sentence(make: Make, folder: Path) -> None:
    """The context is the model's, however small."""
    reader = make(256)
    assert reader.llm.n_ctx() == 256
    talk = Session(observer=Observer(folder=folder), understanders=(WORDS_ALONE, reader))
    talk.start()
    lines = talk.reply("flumph and grumph of the zorb")
    assert lines[0].text.startswith("That is too long for the language model")
    assert talk.draft == Draft()


@pytest.mark.usefixtures("talkative")
def test_time_and_a_stop_end_a_reading(make: Make) -> None:
    """Both set only the excuse, and the model can read again afterwards."""
    reader = make(8192)
    reader.patience_seconds = 0.0
    assert reader.read("flumph", {}).empty
    assert reader.excuse == "model.late"
    reader.patience_seconds = 60.0
    stopper = threading.Timer(0.2, reader.stop.set)
    stopper.start()
    began = time.monotonic()
    reader.read("flumph", {})
    assert time.monotonic() - began < 30
    stopper.join()


def test_a_second_message_waits_for_its_turn(make: Make) -> None:
    """The library is not reentrant: a second message is told to wait."""
    reader = make(8192)
    reader.patience_seconds = 0.05
    with reader.turn:
        assert reader.read("flumph", {}).empty
    assert reader.excuse == "model.busy"


@pytest.mark.parametrize("content", [None, b"", b"GGUF", b"no model at all" * 100])
def test_a_missing_or_broken_file_is_a_sentence(
    content: bytes | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """On the command line too, with exit code 3 and without llama.cpp's log."""
    if content is not None:
        pytest.importorskip("llama_cpp", reason="needs the extra `run`")
        (tmp_path / "m.gguf").write_bytes(content)
    assert run(["chat", "--plain", "--lang", "en", "--llm", str(tmp_path / "m.gguf")]) == 3
    told = capfd.readouterr().err.splitlines()
    assert len(told) == 2
    assert "m.gguf" in told[0]
    assert told[1].endswith("or leave --llm out")


def test_without_the_library_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says how to install it."""
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(EnvironmentFailure, match="llama-cpp-python, which is not installed"):
        load_model(tmp_path / "m.gguf")
