"""What a language model says is shown while it says it, in the terminal and on the screen."""

import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from ftc.tui.agent.speech import Speech, find_shown
from ftc.tui.front_ends.plain import converse
from ftc.tui.languages.voice import Voice
from ftc.tui.session.session import Session
from ftc.tui.state.served_model import Agent, Server
from ftc.tui.state.situation import Observer
from tests.tui.agent import model_server as server

NONSENSE = "flumph and grumph of the zorb"
BEGUN = '{ "tool" : "answer", "arguments": {"text": "'


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("The rank", "The rank"),
        ("The <b", "The"),  # may begin a tag
        ("a < b", "a < b"),
        ("<think>so, the", ""),
        ("<think>so</think> It fits", "It fits"),
        ("{", ""),
        ('{"tool": "plan", "arguments": {}}', ""),
        ("```json\n{", ""),
        (BEGUN, ""),
        (f"{BEGUN}It fits", "It fits"),
        (f"{BEGUN}It fits\\", "It fits"),
        (f"{BEGUN}\\u00e", ""),
        (f"{BEGUN}\\u00e9t", "\u00e9t"),
        (f"{BEGUN}a\\ud83d", "a"),
        (f"{BEGUN}a\\ud83d\\ude00", "a\U0001f600"),
        (f'{BEGUN}It fits"}}}}', "It fits"),
        (f"{BEGUN}\\q", ""),
        ("a\x1b[2Jb", "a [2Jb"),
    ],
)
def test_what_is_shown_of_an_answer_so_far(raw: str, shown: str) -> None:
    """No thoughts, no calls, no half escapes, no control characters."""
    assert find_shown(raw) == shown


def test_pieces_add_up_to_the_text() -> None:
    """Each letter is passed on once, whatever the rounds."""
    heard: list[str] = []
    speech = Speech(hear=heard.append, most_letters=40)
    for raw in ("Let", "Let me", "Let me look.  "):
        speech.listen(raw)
    speech.settle("Let me look.  ")
    for raw in ('{"tool": "pl', '{"tool": "plan", "arguments": {}}'):
        speech.listen(raw)
    speech.settle("")
    speech.listen("It fits")
    speech.settle("It fits: 20 GiB of 24 GiB, and more words")
    assert heard == ["Let", " me", " look.", "\n\nIt fits", ": 20 GiB of 24 GiB,"]
    assert "".join(heard) == speech.earlier


def _talk(folder: Path, script: server.Scripted) -> Session:
    agent = Agent(server=Server(url=script.url), model=server.MODEL)
    return Session(observer=Observer(folder=folder), voice=Voice(language="en"), agent=agent)


class Terminal(io.StringIO):
    """Opens a gate as soon as the given words have been written."""

    def __init__(self, words: str, gate: threading.Event) -> None:
        super().__init__()
        self.words, self.gate = words, gate

    def flush(self) -> None:
        """Receive the text written so far."""
        if self.words in self.getvalue():
            self.gate.set()


def test_line_by_line(folder: Path) -> None:
    """The first words are there before the others are sent; nothing is told twice."""
    gate = threading.Event()
    told = Terminal("The rank", gate)
    with server.serve(server.says_slowly("The rank ", "is *8*.", gate)) as script:
        converse(_talk(folder, script), io.StringIO(f"{NONSENSE}\nquit\n"), told)
    assert gate.is_set()
    assert told.getvalue().count(f"{server.MODEL} says:\nThe rank is *8*.\n") == 1
    assert told.getvalue().count("The rank") == 1


def test_text_before_a_call_stays(folder: Path) -> None:
    """What was said before a tool was called is part of the answer."""
    call = {"index": 0, "id": "c", "function": {"name": "plan", "arguments": "{}"}}
    looks = server.events(
        server.chunk({"content": "Let me look."}),
        server.chunk({"tool_calls": [call]}, "tool_calls"),
    )
    answer = server.says(json.dumps({"tool": "answer", "arguments": {"text": "It fits."}}))
    with server.serve(looks, answer) as script:
        lines = _talk(folder, script).reply(NONSENSE)
    assert lines[0].said == "Let me look.\n\nIt fits."


@pytest.mark.prove
def test_on_the_screen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Markdown grows in the transcript and stays; after a stop, the received part is kept."""
    from textual.widgets import Markdown  # noqa: PLC0415 - Textual is slow

    from tests.tui.front_ends.stage import LARGE, play, say, seen, send, settle  # noqa: PLC0415

    monkeypatch.chdir(folder)
    gate, never = threading.Event(), threading.Event()
    answers = [
        server.says_slowly("The **rank** ", "is 8.", gate),
        server.says_slowly("The other", " one", never),
    ]

    async def part(app: Any, pilot: Any) -> None:
        await say(app, pilot, "tickets.csv")
        await send(app, pilot, NONSENSE)
        while "The rank" not in seen(app):
            await pilot.pause(0.02)
        assert "is 8." not in seen(app)
        gate.set()
        await settle(app, pilot)
        await pilot.pause()
        assert "The rank is 8." in seen(app)
        assert [each.source for each in app.query(".speech Markdown").results(Markdown)] == [
            "The **rank** is 8."
        ]
        await send(app, pilot, NONSENSE)
        while "The other" not in seen(app):
            await pilot.pause(0.02)
        await pilot.press("escape")
        never.set()
        await pilot.pause(0.1)
        assert "The other" in seen(app)
        assert "The other one" not in seen(app)

    with server.serve(*answers) as script:
        play(_talk(folder, script), part, LARGE)
