"""The screen, tested key by key: whole conversations, focus, waiting, colours and sizes."""

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ftc.__main__ import run
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.front_ends.app import Assistant
from ftc.tui.questions.dialogue import Done
from ftc.tui.session.session import Session
from ftc.tui.state.draft import Draft
from ftc.tui.state.situation import Observer, Situation
from ftc.tui.widgets.bundle import BundleScreen
from ftc.tui.widgets.help import HelpScreen
from ftc.tui.widgets.message import MessageInput
from ftc.tui.widgets.offers import Offers
from ftc.tui.widgets.side import Side
from tests.tui.front_ends.stage import LARGE, SMALL, play, say, seen, settle

EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"


@pytest.fixture
def opening(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Session]:
    """Return a function that makes a session that has not started, in the folder with data."""
    from ftc.tui.session.opening import make_session  # noqa: PLC0415 - after the environment

    monkeypatch.chdir(folder)
    return lambda: make_session(Path(), language="en", spec=None)


@pytest.mark.parametrize("size", [SMALL, LARGE, (200, 60)])
def test_a_conversation_ends_in_a_bundle(
    opening: Callable[[], Session], folder: Path, size: tuple[int, int]
) -> None:
    """One sentence, two answers, one key; the written spec compiles to the same bytes."""

    async def part(app: Assistant, pilot: Any) -> None:
        assert "What should the model learn to do?" in seen(app)
        await say(app, pilot, EVERYTHING, "2", "triage")
        assert isinstance(app.session.step, Done)
        await pilot.press("f9")
        await settle(app, pilot)
        assert isinstance(app.screen, BundleScreen)
        assert "Next: cd triage && ./run.sh" in seen(app)
        await pilot.press("escape")
        assert not isinstance(app.screen, BundleScreen)

    play(opening(), part, size)
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    assert (spec["name"], spec["method"]) == ("triage", "qlora")
    assert run(["compile", "spec.json", "-o", "triage", "--check"]) == 0


def test_answers_one_by_one_with_the_keyboard_alone(
    opening: Callable[[], Session], folder: Path
) -> None:
    """Arrows, Enter and digits are enough, for fixes too: no typing and no mouse are needed."""

    async def part(app: Assistant, pilot: Any) -> None:
        for _ in range(12):
            step = app.session.step
            if isinstance(step, Done):
                break
            await pilot.press("down")
            assert isinstance(app.focused, Offers)
            asks_hardware = step.pointer == "/hardware/gpu" and step.trouble is None
            await pilot.press(*("4", "enter") if asks_hardware else ("enter",))
            await settle(app, pilot)
        assert isinstance(app.session.step, Done)
        await pilot.press("f9")
        await settle(app, pilot)

    play(opening(), part)
    assert (
        run(["compile", str(folder / "spec.json"), "-o", str(folder / "tickets"), "--check"]) == 0
    )


def test_a_click_answers_too(opening: Callable[[], Session]) -> None:
    """The mouse can do what the keys can."""

    async def part(app: Assistant, pilot: Any) -> None:
        await pilot.click(Offers, offset=(4, 1))
        await settle(app, pilot)
        assert app.session.goal == "classify"

    play(opening(), part)


def test_letters_go_to_the_message_wherever_the_focus_is(opening: Callable[[], Session]) -> None:
    """Typing after scrolling loses no character."""

    async def part(app: Assistant, pilot: Any) -> None:
        app.query_one("#transcript").focus()
        await pilot.press("q", "w", "e", "n")
        assert app.query_one(MessageInput).text == "qwen"

    play(opening(), part)


def test_every_part_is_reached_with_tab(opening: Callable[[], Session]) -> None:
    """Tab cycles through the conversation, the answers, the input and the panel."""

    async def part(app: Assistant, pilot: Any) -> None:
        met = set()
        for _ in range(6):
            await pilot.press("tab")
            met.add(app.focused.id if app.focused is not None else None)
        assert met >= {"transcript", "examples", "offers", "message", "findings"}

    play(opening(), part, LARGE)


def test_a_small_screen_has_tabs(opening: Callable[[], Session]) -> None:
    """F6 opens the other tab; a message returns to the conversation, so its reply is visible."""

    async def part(app: Assistant, pilot: Any) -> None:
        assert not app.query_one(Side).display or not app.query_one(Side).region
        await pilot.press("f6")
        await pilot.pause()
        assert "memory and time" in seen(app)
        await pilot.press("f2")
        await settle(app, pilot)
        assert "What should the model" in seen(app)

    play(opening(), part)


def test_escape_stops_waiting_and_changes_nothing(
    opening: Callable[[], Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a lookup hangs, a key takes less than 50 ms; Escape and quitting work.

    What a key costs is time of this process alone, since others may be at work on the machine.
    """
    hang = threading.Event()
    looks = Observer.look

    def look(observer: Observer, draft: Draft) -> Situation:
        if draft.data:
            hang.wait(20)
        return looks(observer, draft)

    monkeypatch.setattr(Observer, "look", look)
    delays = []

    async def part(app: Assistant, pilot: Any) -> None:
        await pilot.press(*"cpu", "enter")
        await asyncio.sleep(0.7)
        await pilot.pause()
        assert "Working for 1 s; press Escape to stop waiting." in seen(app)
        for letter in "hello":
            began = time.process_time()
            await pilot.press(letter)
            delays.append(time.process_time() - began)
        assert app.query_one(MessageInput).text == "hello"
        await pilot.press("escape")
        await pilot.pause()
        assert "Stopped waiting; nothing was changed." in seen(app)
        assert app.session.draft == Draft()
        app.query_one(MessageInput).clear()
        await pilot.press(*"cpu", "enter")
        await pilot.press("ctrl+q")

    began = time.monotonic()
    play(opening(), part)
    hang.set()
    assert time.monotonic() - began < 10
    assert sorted(delays)[len(delays) // 2] < 0.05


def test_what_is_typed_meanwhile_is_taken_up_in_turn(
    opening: Callable[[], Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second message is answered after the first; neither is lost."""
    looks = Observer.look

    def look(observer: Observer, draft: Draft) -> Situation:
        time.sleep(0.05)
        return looks(observer, draft)

    monkeypatch.setattr(Observer, "look", look)

    async def part(app: Assistant, pilot: Any) -> None:
        await pilot.press(*"lora", "enter", *"cpu", "enter")
        await settle(app, pilot)
        assert app.session.draft.get("/method/type") == "lora"
        assert app.session.draft.get("/hardware/gpu") == "cpu"

    play(opening(), part)


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (EnvironmentFailure(message="the disk is full", help="make room"), "the disk is full"),
        (ZeroDivisionError(), "This is a bug in ftc (ZeroDivisionError); nothing was"),
    ],
)
def test_a_reply_that_fails_is_a_sentence(
    opening: Callable[[], Session],
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
    told: str,
) -> None:
    """The session does not change, and continues."""

    def fail(session: Session, text: str) -> None:
        del session, text
        raise failure

    async def part(app: Assistant, pilot: Any) -> None:
        monkeypatch.setattr(Session, "reply", fail)
        await say(app, pilot, "lora")
        assert told in seen(app)
        monkeypatch.undo()
        await say(app, pilot, "lora")
        assert app.session.draft.get("/method/type") == "lora"

    play(opening(), part)


def test_the_colours_are_remembered(opening: Callable[[], Session]) -> None:
    """The last theme is used at the next start; an unknown theme is ignored."""

    async def choose(app: Assistant, pilot: Any) -> None:
        app.theme = "ansi-light"
        await pilot.pause()

    async def look(app: Assistant, pilot: Any) -> None:
        await pilot.pause()
        assert app.theme == "ansi-light"

    play(opening(), choose)
    play(opening(), look)
    Path(os.environ["XDG_STATE_HOME"], "ftc", "theme").write_text("no-such", encoding="utf-8")

    async def begin(app: Assistant, pilot: Any) -> None:
        await pilot.pause()
        assert app.theme == "textual-dark"

    play(opening(), begin)


def test_every_action_has_its_key_in_the_help(opening: Callable[[], Session]) -> None:
    """Footer, help and palette are made from one table."""

    async def part(app: Assistant, pilot: Any) -> None:
        assert "^q quit" in seen(app)
        await pilot.press("f1")
        assert isinstance(app.screen, HelpScreen)
        told = seen(app)
        from ftc.tui.bundle.actions import ACTIONS  # noqa: PLC0415

        for action in ACTIONS:
            assert f"{action.key}  {app.session.voice.say(action.label)}:" in told
        names = [each.title for each in app.get_system_commands(app.screen_stack[0])]
        assert {app.session.voice.say(action.label) for action in ACTIONS} <= set(names)
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpScreen)

    play(opening(), part, (120, 60))


def test_the_palette_speaks_the_language(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key in the footer, its prompt and its commands."""
    from ftc.tui.session.opening import make_session  # noqa: PLC0415 - after the environment

    monkeypatch.chdir(folder)

    async def part(app: Assistant, pilot: Any) -> None:
        assert "menú" in seen(app)
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert "Busca una orden" in seen(app)
        assert "deshace el último cambio" in seen(app)

    play(make_session(Path(), language="es", spec=None), part, LARGE)


def test_leaving_keeps_the_draft(opening: Callable[[], Session]) -> None:
    """The next start offers to continue."""

    async def leave(app: Assistant, pilot: Any) -> None:
        await say(app, pilot, "tickets.csv")
        await pilot.press("ctrl+q")

    async def return_(app: Assistant, pilot: Any) -> None:
        assert "Continue with it?" in seen(app)
        await say(app, pilot, "yes")
        assert app.session.draft.get("/data/source") == "tickets.csv"

    play(opening(), leave)
    play(opening(), return_)
