"""A GGUF language model with random weights: it can act only through the closed set of tools."""

import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ftc.__main__ import run
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.validate import to_spec
from ftc.tui.agent import local, proposal, turn
from ftc.tui.agent.local import complete, open_file
from ftc.tui.agent.proposal import proposal_schema
from ftc.tui.agent.tools import NAMES, action_schema
from ftc.tui.languages.voice import Voice
from ftc.tui.session.session import Session
from ftc.tui.state.draft import Draft, written
from ftc.tui.state.served_model import Agent, Limits, LocalModel
from ftc.tui.state.situation import Observer
from ftc.tui.understanding.reading import Change

Make = Callable[[int], Agent]
NONSENSE = "flumph and grumph of the zorb"


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Return a function that opens a random model with a given context."""
    pytest.importorskip("llama_cpp", reason="needs the extra `run`")
    pytest.importorskip("gguf", reason="needs the extra `run`")
    from tests.tui.agent.tiny_gguf import write_tiny  # noqa: PLC0415 - needs the extra

    folder = tmp_path_factory.mktemp("tiny")

    def make(context_tokens: int) -> Agent:
        path = folder / f"{context_tokens}.gguf"
        agent = open_file(
            path if path.exists() else write_tiny(path, context_tokens=context_tokens)
        )
        return replace(agent, limits=replace(agent.limits, seconds=60.0))

    return make


def _talk(folder: Path, agent: Agent) -> Session:
    talk = Session(observer=Observer(folder=folder), voice=Voice(language="en"), agent=agent)
    talk.start()
    return talk


def _force(monkeypatch: pytest.MonkeyPatch, tool: str, arguments: Mapping[str, Any]) -> None:
    """Constrain the model to calls of one tool; each of its tokens is one letter."""
    action = {
        "type": "object",
        "properties": {"tool": {"const": tool}, "arguments": arguments},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }
    monkeypatch.setattr(turn, "action_schema", lambda: action)
    monkeypatch.setattr("ftc.tui.agent.local._MOST_TOKENS", 3000)
    monkeypatch.setattr(turn, "settable", lambda: ("/name",))  # a short prompt: a letter is a token


def test_whatever_it_proposes_is_a_valid_change(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A random model proposes values of the schema; nothing is applied before a yes."""
    monkeypatch.setattr(proposal, "_LONGEST_TEXT", 8)  # the library is slow with half letters
    schema: Any = dict(proposal_schema.__wrapped__())
    changes = {**schema["properties"]["changes"], "minItems": 3}
    _force(monkeypatch, "propose_changes", {**schema, "properties": {"changes": changes}})
    talk = _talk(folder, make(16384))
    lines = talk.reply(NONSENSE)
    proposed = talk.proposal
    assert talk.draft == Draft()
    if proposed:
        needed = {"/name": "a", "/model/id": "b", "/data/source": "c"}
        least = [Change(pointer=each, value=said, words=said) for each, said in needed.items()]
        to_spec(written(Draft().changed([*least, *proposed])))
        assert "Apply it?" in talk.transcript[-1].text
        assert talk.transcript[-1].by == "16384.gguf"
        talk.reply("yes")
        assert talk.draft == Draft().changed(proposed)
    else:
        assert lines[0].kind == "trouble", lines
    assert capfd.readouterr().err == ""


def test_its_words_are_heard_as_it_writes_them(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of an answer arrives in pieces, without the JSON around it."""
    text = {"type": "string", "minLength": 5, "maxLength": 40}
    answer = {"type": "object", "properties": {"text": text}, "required": ["text"]}
    _force(monkeypatch, "answer", {**answer, "additionalProperties": False})
    talk = _talk(folder, make(8192))
    heard: list[tuple[str, str]] = []
    talk.hears = lambda model, piece: heard.append((model, piece))
    (spoken,) = (line for line in talk.reply(NONSENSE) if line.kind == "speech")
    assert len(heard) > 1
    assert {model for model, _ in heard} == {"8192.gguf"}
    assert "".join(piece for _, piece in heard) == spoken.said
    assert spoken.text == f"8192.gguf says:\n{spoken.said}"


def test_its_calls_are_answered_until_a_limit(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop is that of a server's model: six rounds of a tool without an answer end it."""
    _force(monkeypatch, "plan", {"type": "object", "properties": {}, "additionalProperties": False})
    talk = _talk(folder, make(16384))
    assert talk.reply(NONSENSE)[0].text.startswith("The language model called tools 6 times")


def test_the_grammar_allows_one_call_of_a_closed_tool(make: Make) -> None:
    """Every text of the real grammar begins a call; a random model may not come to its end."""
    body = {
        "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}],
        "response_format": {"type": "json_object", "schema": action_schema()},
    }
    server = make(8192).server
    assert isinstance(server, LocalModel)
    text = ""
    for chunk in complete(server, body, Limits(), lambda: False):
        text += chunk["choices"][0]["delta"].get("content") or ""
        if "arguments" in text:
            break
    begun = re.match(r'\{ ?"tool" ?: ?"(\w+)" ?, ?"arguments', text)
    assert begun is not None, text
    assert begun[1] in (*NAMES, "answer")


def test_a_message_that_does_not_fit_is_a_sentence(make: Make, folder: Path) -> None:
    """The context is the model's, however small."""
    talk = _talk(folder, make(256))
    lines = talk.reply(NONSENSE)
    assert "too long for the language model in 256.gguf: it reads 256 tokens" in lines[0].text
    assert talk.draft == Draft()


def test_time_and_a_stop_end_a_turn(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are sentences, and the library is free for the next turn soon after."""
    word = {"type": "string", "minLength": 200}
    answer = {"type": "object", "properties": {"text": word}, "required": ["text"]}
    _force(monkeypatch, "answer", answer)
    agent = make(16384)
    talk = _talk(folder, replace(agent, limits=replace(agent.limits, seconds=0.05)))
    assert "did not finish" in talk.reply(NONSENSE)[0].text
    talk.agent = agent
    stopper = threading.Timer(0.05, agent.brake.pull)
    stopper.start()
    began = time.monotonic()
    assert "was stopped" in talk.reply(NONSENSE)[0].text
    assert time.monotonic() - began < 30
    stopper.join()
    assert isinstance(agent.server, LocalModel)
    assert agent.server.turn.acquire(timeout=30)  # the threads end by themselves
    agent.server.turn.release()


#: A template as some models have one; it leaves a mark of its own.
PICKY = (
    "{% for each in messages %}{% if each.role == 'system' %}{{ raise_exception('no') }}{% endif %}"
    "[{{ each.role }}]{{ each.content }}{% endfor %}[model]"
)


@pytest.mark.parametrize(
    ("template", "wanted"),
    [
        (PICKY, "[user]be brief\n\nhi[model]"),
        ("", "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"),
    ],
    ids=["picky", "none"],
)
def test_the_chat_template_writes_the_prompt(template: str, wanted: str, tmp_path: Path) -> None:
    """One that refuses the system's role gets its words at the head of the user's message."""
    pytest.importorskip("llama_cpp", reason="needs the extra `run`")
    pytest.importorskip("gguf", reason="needs the extra `run`")
    from tests.tui.agent.tiny_gguf import write_tiny  # noqa: PLC0415 - needs the extra

    path = write_tiny(tmp_path / "m.gguf", context_tokens=512, chat_template=template)
    server = open_file(path).server
    assert isinstance(server, LocalModel)
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]
    tokens, stops = local._write_prompt(server.llm, messages)
    shown = server.llm.detokenize(tokens).decode().replace("\u2581", " ")
    assert shown.strip().startswith(wanted)
    assert stops


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
        open_file(tmp_path / "m.gguf")
