"""How the assistant reports a model server that is slow, broken, gone or stopped."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ftc.tui.languages.voice import LANGUAGES, Language, Voice
from ftc.tui.state.draft import Draft
from ftc.tui.state.served_model import Limits, Server
from tests.tui.agent import model_server as server
from tests.tui.agent.test_agent import NONSENSE, converse, told

QUICK = Limits(seconds=0.6, silent_seconds=0.25, line_bytes=4096, answer_bytes=20_000)
LONG = server.chunk({"content": "x" * 900})
FAILURES: dict[str, tuple[server.Answer, str]] = {
    "silence": (server.keeps_silent(2), "sent nothing for 0 seconds"),
    "drips": (server.drips(3), "did not finish within 1 seconds"),
    "garbage": (server.sends(b"<html>hello</html>\n"), "is not the protocol"),
    "garbage events": (server.sends(b"data: {nonsense\n\n"), "is not the protocol"),
    "other events": (server.sends(b'data: {"a": 1}\n\n'), "is not the protocol"),
    "a list": (server.sends(b"data: [1]\n\n"), "is not the protocol"),
    "other choices": (server.sends(b'data: {"choices": [7]}\n\n'), "is not the protocol"),
    "other calls": (
        server.sends(b'data: {"choices": [{"delta": {"tool_calls": [3]}}]}\n\n'),
        "is not the protocol",
    ),
    "other text": (
        server.sends(b'data: {"choices": [{"delta": {"content": ["a"]}}]}\n\n'),
        "is not the protocol",
    ),
    "other refusal": (
        server.sends(b'data: {"choices": [{"delta": {"refusal": {"a": 1}}}]}\n\n'),
        "is not the protocol",
    ),
    "nested": (server.sends(b"data: " + b"[" * 3000 + b"\n\n"), "is not the protocol"),
    "refusal": (
        server.events(server.chunk({"refusal": "I cannot help."}), server.chunk({}, "stop")),
        "refused to answer: I cannot help.",
    ),
    "filter": (server.events(server.chunk({}, "content_filter")), "refused to answer"),
    "broken": (server.breaks_off(), "broke off"),
    "no end": (server.events(server.chunk({"content": "a"}), end=""), "broke off"),
    "cut": (server.events(server.chunk({"content": "a"}, "length")), "limit of tokens"),
    "empty": (server.events(server.chunk({}, "stop")), "is empty"),
    "only thought": (server.says("<think>for ever"), "is empty"),
    "long line": (server.sends(b"data: " + b"x" * 9000), "too long"),
    "long": (server.events(*[LONG] * 40), "too long"),
    "in the stream": (
        server.events(server.chunk({"content": "a"}), 'data: {"error": {"message": "OOM"}}\n\n'),
        "server failed: OOM",
    ),
    "not streamed": (
        server.sends(b'{"error": {"message": "boom"}}', server.JSON),
        "server failed: boom",
    ),
    "401": (server.fails(401, {"error": {"message": "no key"}}), "wants a key (HTTP status 401)"),
    "404": (
        server.fails(404, {"error": {"message": "model 'x' not found"}}),
        f"has no model {server.MODEL} any more. Its models: {server.MODEL}.",
    ),
    "429": (server.fails(429, {"error": {"message": "slow down"}}), "no more messages for now"),
    "503": (server.fails(503, {"detail": "loading"}), "HTTP status 503: loading"),
    "500": (server.fails(500, "oops"), "HTTP status 500"),
    "moved": (server.fails(307, {}, location="http://127.0.0.1:9/v1"), "HTTP status 307"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_is_one_sentence(folder: Path, case: str) -> None:
    """The conversation goes on by rules: the question is asked again, the draft is as before."""
    answer, sentence = FAILURES[case]
    with server.serve(answer) as script:
        talk = converse(folder, script, limits=QUICK)
        lines = talk.reply(NONSENSE)
        assert lines[0].kind == "trouble"
        assert sentence in lines[0].text
        assert "\n" not in lines[0].text
        assert lines[-1].kind == "question"
        assert talk.draft == Draft()
        assert "Noted" in told(talk.reply("rank 16"))


def test_a_server_that_is_gone(folder: Path) -> None:
    """Nothing listens there any more."""
    with server.serve(server.says("a")) as script:
        pass
    lines = converse(folder, script).reply(NONSENSE)
    assert lines[0].text == (
        f"The language model's server at {script.url} cannot be reached: Connection refused."
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_failures_are_said_in_each_language(folder: Path, language: Language) -> None:
    """And the model is told which language to answer in."""
    with server.serve(server.fails(429, {"error": "later"})) as script:
        talk = converse(folder, script)
        talk.voice = Voice(language=language)
        lines = talk.reply(NONSENSE)
        values = {"address": script.url, "code": 429, "said": "later"}
    assert lines[0].text == talk.voice.say("agent.limited", **values)
    spoken = {"en": "English", "ca": "Catalan", "es": "Spanish"}[language]
    assert f"Answer in {spoken}" in script.asked[0]["messages"][0]["content"]


def test_the_key_is_sent_and_nowhere_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in what is shown, not in the state of the session, and cut out of a server's words."""
    monkeypatch.setenv("MY_KEY", server.KEY)
    repeats = server.fails(401, {"error": {"message": f"wrong key {server.KEY}"}})
    with server.serve(repeats) as script:
        talk = converse(folder, script)
        assert talk.agent is not None
        talk.agent = replace(talk.agent, server=Server(url=script.url, key_variable="MY_KEY"))
        lines = talk.reply(NONSENSE)
    assert script.headers[0]["Authorization"] == f"Bearer {server.KEY}"
    assert lines[0].text.endswith(
        "did not accept the key in MY_KEY (HTTP status 401): wrong key ***"
    )
    assert server.KEY not in repr(talk)


def test_no_other_key_is_sent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the Hub's token, nor a name of this machine's packages."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with server.serve(server.says("a")) as script:
        converse(folder, script).reply(NONSENSE)
    [headers] = script.headers
    assert "Authorization" not in headers
    assert headers["User-Agent"] == "ftc"


def test_a_stop_ends_a_turn_at_once(folder: Path) -> None:
    """A turn that begins later is not stopped."""
    with server.serve(server.drips(5), server.says("Here.")) as script:
        talk = converse(folder, script)
        assert talk.agent is not None
        stop = _after(0.2, talk.agent.brake.pull)
        began = time.monotonic()
        assert "was stopped" in told(talk.reply(NONSENSE))
        assert time.monotonic() - began < 3
        stop()
        assert "Here." in told(talk.reply(NONSENSE))


def _after(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
    from threading import Timer  # noqa: PLC0415 - only here

    timer = Timer(seconds, act)
    timer.start()
    return timer.join


def test_a_fork_does_not_change_the_agent(folder: Path) -> None:
    """A background reply that is dropped changes nothing."""
    with server.serve(server.says("Here.")) as script:
        talk = converse(folder, script)
        before = talk.agent
        copy = talk.fork()
        copy.reply(NONSENSE)
    assert talk.agent == before
    assert copy.agent is not None
    assert len(copy.agent.history) == 2
