"""How a language model on a server is named, found and offered, on each front end."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ftc.__main__ import run
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.agent.address import Wanted, open_agent, read_server
from ftc.tui.agent.finder import Finder
from ftc.tui.front_ends.plain import converse, converse_in_json
from ftc.tui.languages.voice import LANGUAGES, Language, Voice
from ftc.tui.session.session import Session
from ftc.tui.state.served_model import Agent, Server
from ftc.tui.state.situation import Observer
from tests.tui.agent import model_server as server

NONSENSE = "flumph and grumph of the zorb"
PROPOSAL = server.calls_whole(
    ("propose_changes", json.dumps({"changes": [{"field": "/training/epochs", "value": 2}]}))
)


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1"),
        ("localhost:11434", "http://localhost:11434/v1"),
        ("http://h:1/v1/", "http://h:1/v1"),
        ("https://h/api/v1/chat/completions", "https://h/api/v1"),
        ("http://[::1]:8080", "http://[::1]:8080/v1"),
    ],
)
def test_an_address_needs_no_path(said: str, url: str) -> None:
    """What is appended to it is the same for all servers."""
    assert Wanted(source=said).is_address
    assert Wanted(source=said).file is None
    assert read_server(said, None).url == url


@pytest.mark.parametrize("said", ["model.gguf", "/a/b:1.gguf", "none", None, "C:\\m.gguf"])
def test_other_words_are_no_address(said: str | None) -> None:
    """A file, or nothing."""
    wanted = Wanted(source=said)
    assert not wanted.is_address
    assert (wanted.file is None) == (said in ("none", None))


@pytest.mark.parametrize(
    "said",
    ["ftp://h", "http://", "http://h:port", "http://me:sesame@h", "http://h/v1?key=sesame"],
)
def test_a_wrong_address_is_a_sentence(said: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Which repeats no password."""
    assert run(["chat", "--plain", "--llm", said]) == 3
    told = capfd.readouterr().err
    assert "--llm" in told
    assert "sesame" not in told
    assert len(told.splitlines()) == 2


def test_a_key_is_named_and_not_given(capfd: pytest.CaptureFixture[str]) -> None:
    """A key in the place of its name is not repeated."""
    assert run(["chat", "--plain", "--llm", "http://h", "--llm-key", server.KEY]) == 3
    told = capfd.readouterr().err
    assert "no environment variable" in told
    assert server.KEY not in told


def test_options_of_a_server_need_one(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is accepted and then ignored."""
    assert run(["chat", "--plain", "--llm", "m.gguf", "--llm-model", "a"]) == 2
    assert "go with an address" in capfd.readouterr().err


STARTS: dict[str, tuple[dict[str, Any], str | None, str]] = {
    "several": ({"models": ["a", "b"]}, None, "has 2 models: a, b"),
    "none": ({"models": []}, None, "has 0 models: -"),
    "another": ({"models": ["a", "b"]}, "c", "has no model c; it has: a, b"),
    "key": ({"listing": server.fails(401, {"error": "who?"})}, None, "wants a key"),
    "html": ({"listing": server.sends(b"<html>", "text/html")}, "a", "is not the protocol"),
    "other JSON": ({"listing": server.sends(b'{"a": 1}', server.JSON)}, "a", "is not the protocol"),
    "data of another kind": (
        {"listing": server.sends(b'{"data": 5}', server.JSON)},
        "a",
        "is not the protocol",
    ),
    "other entries": (
        {"listing": server.sends(b'{"data": [{"id": 5}, 7]}', server.JSON)},
        None,
        "has 0 models",
    ),
    "null": ({"listing": server.sends(b'{"data": null}', server.JSON)}, None, "has 0 models"),
    "no list": ({"listing": server.fails(404, {})}, None, "HTTP status 404"),
}


@pytest.mark.parametrize("case", STARTS)
def test_a_server_that_cannot_be_used_is_a_sentence(
    case: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """On the command line, with exit code 3 and two lines."""
    settings, model, sentence = STARTS[case]
    with server.serve(**settings) as script:
        words = ["--llm-model", model] if model else []
        assert run(["chat", "--plain", "--llm", script.url, *words]) == 3
    told = capfd.readouterr().err
    assert sentence in told
    assert len(told.splitlines()) == 2


def test_a_model_is_found_by_its_name() -> None:
    """The only one without a name; Ollama's with or without its tag; a server without a list."""
    with server.serve() as script:
        found = open_agent(Wanted(source=script.url))
        assert found == Agent(server=Server(url=script.url), model=server.MODEL)
        script.models = ["a:latest", "b"]
        found = open_agent(Wanted(source=script.url, name="a"))
        assert found is not None
        assert found.model == "a:latest"
        script.listing = server.fails(404, {})
        found = open_agent(Wanted(source=script.url, name="big"))
        assert found is not None
        assert found.model == "big"
    with pytest.raises(EnvironmentFailure, match="cannot be reached"):
        open_agent(Wanted(source=script.url))


def _session(folder: Path, finder: Finder, language: Language = "en") -> Session:
    for thread in finder.threads:
        thread.join()
    talk = Session(observer=Observer(folder=folder), voice=Voice(language=language), finder=finder)
    talk.start()
    return talk


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_server_here_is_offered_once(folder: Path, language: Language) -> None:
    """Nothing is sent before the user turns it on; the next start does not offer it again."""
    with server.serve(server.says("Here."), models=["nomic-embed-text", "b"]) as script:
        ports = {"Ollama": script.port}
        talk = _session(folder, Finder(ports=ports), language)
        offered = talk.reply("tickets.csv")[0].text
        assert offered.startswith("Ollama ")
        assert "b" in offered
        assert talk.voice.say("agent.says.on") in offered
        assert not any("Ollama" in line.text for line in talk.reply("rank 8"))
        talk.reply(NONSENSE)
        assert script.asked == []
        again = _session(folder, Finder(ports=ports), language)
        assert not any("Ollama" in line.text for line in again.reply("tickets.csv"))
        lines = again.reply(again.voice.say("agent.says.on"))
        address = f"http://127.0.0.1:{script.port}/v1"
        assert lines[0].text.startswith(again.voice.say("agent.here", model="b", address=address))
        again.reply(NONSENSE)
        assert script.asked[0]["model"] == "b"


def test_what_is_no_model_server_is_not_offered(folder: Path) -> None:
    """Another web server, a server without models, and a closed port."""
    with (
        server.serve(listing=server.sends(b"<html>", "text/html")) as web,
        server.serve(models=[]) as bare,
        server.serve(listing=server.keeps_silent(1)) as slow,
    ):
        finder = Finder(ports={"a": web.port, "b": bare.port, "c": slow.port, "d": 1})
        talk = _session(folder, finder)
        assert finder.found == []
        assert not any("runs on this machine" in line.text for line in talk.reply("tickets.csv"))
        assert "No server" in talk.reply("turn on the language model")[0].text


def test_line_by_line(folder: Path) -> None:
    """What is sent is said first, then the proposal, and only a yes applies it."""
    with server.serve(PROPOSAL) as script:
        agent = Agent(server=Server(url=script.url), model=server.MODEL)
        talk = Session(observer=Observer(folder=folder), voice=Voice(), agent=agent)
        told = io.StringIO()
        converse(talk, io.StringIO(f"{NONSENSE}\nyes\nquit\n"), told)
    text = told.getvalue()
    at = [text.index(part) for part in (script.url, f"{server.MODEL} proposes", "Noted")]
    assert at == sorted(at)
    assert talk.draft.get("/training/epochs") == 2


def test_for_a_program(folder: Path) -> None:
    """Each record says who proposes what."""
    with server.serve(PROPOSAL) as script:
        agent = Agent(server=Server(url=script.url), model=server.MODEL)
        talk = Session(observer=Observer(folder=folder), voice=Voice(), agent=agent)
        told = io.StringIO()
        converse_in_json(talk, io.StringIO(f"rank 8\n{NONSENSE}\nyes\n"), told)
    first, second, third = (json.loads(line) for line in told.getvalue().splitlines())
    assert first["proposed"] is None
    assert second["proposed"]["by"] == server.MODEL
    assert second["asked"][0]["options"] == ["yes", "no"]
    assert third["applied"][0]["pointer"] == "/training/epochs"
    assert third["proposed"] is None


@pytest.mark.prove
def test_on_the_screen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's words and its proposal have a mark of their own; a stop ends its turn."""
    from tests.tui.front_ends.stage import LARGE, play, say, seen  # noqa: PLC0415 - Textual is slow

    monkeypatch.chdir(folder)
    screens = []

    async def part(app: Any, pilot: Any) -> None:
        await say(app, pilot, NONSENSE)
        screens.append(seen(app))
        assert [str(each.render()) for each in app.query(".model")][-1].startswith(server.MODEL)
        await say(app, pilot, "yes")

    with server.serve(PROPOSAL) as script:
        agent = Agent(server=Server(url=script.url), model=server.MODEL)
        talk = Session(observer=Observer(folder=folder), voice=Voice(), agent=agent)
        app = play(talk, part, LARGE)
    assert f"{server.MODEL} proposes" in screens[0]
    assert app.session.draft.get("/training/epochs") == 2


@pytest.mark.prove
def test_the_command_with_a_key(folder: Path) -> None:
    """A process of its own: the key is in no output and in no saved file."""
    state = folder.parent / "state"
    with server.serve(PROPOSAL) as script:
        words = [sys.executable, "-m", "ftc", "chat", "--plain", "--lang", "en", "--llm"]
        done = subprocess.run(
            [*words, script.url, "--llm-key", "MY_KEY"],
            input=f"{NONSENSE}\nyes\n",
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "MY_KEY": server.KEY, "XDG_STATE_HOME": str(state)},
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert script.headers[-1]["Authorization"] == f"Bearer {server.KEY}"
    saved = "".join(path.read_text() for path in state.rglob("*") if path.is_file())
    assert f"{server.MODEL} proposes" in saved
    for text in (done.stdout, done.stderr, saved):
        assert server.KEY not in text
