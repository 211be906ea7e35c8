"""What keys and clicks do on the screen, in a real application without a terminal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import OptionList, Static

from ftc.tui.front_ends.app import Assistant
from ftc.tui.session.session import Session
from ftc.tui.widgets.examples import Examples
from ftc.tui.widgets.findings import Findings
from ftc.tui.widgets.message import MessageInput
from ftc.tui.widgets.names import Names
from ftc.tui.widgets.offers import Offers
from ftc.tui.widgets.transcript import Transcript
from tests.tui.front_ends.stage import LARGE, play, say, seen, settle

EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"


@pytest.fixture
def opening(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Session]:
    """Return a function that makes a session that has not started, in the folder with data."""
    from ftc.tui.session.opening import make_session  # noqa: PLC0415 - after the environment

    monkeypatch.chdir(folder)
    return lambda language="en": make_session(Path(), language=language, spec=None)


def test_the_own_message_is_in_view_after_scrolling_and_resizing(
    opening: Callable[..., Session],
) -> None:
    """A resize keeps the end in view; scrolling leaves it; the next message returns to it."""

    async def part(app: Assistant, pilot: Any) -> None:
        transcript = app.query_one(Transcript)
        await say(app, pilot, EVERYTHING)
        for size in ((100, 30), (60, 20), (110, 40), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.1)
            assert transcript.scroll_y == transcript.max_scroll_y, size
        transcript.scroll_home(animate=False)
        await pilot.pause()
        await pilot.resize_terminal(90, 28)
        await pilot.pause(0.1)
        assert transcript.scroll_y < transcript.max_scroll_y
        await say(app, pilot, "seed 7")
        await pilot.pause(0.1)
        assert transcript.scroll_y == transcript.max_scroll_y
        assert "> seed 7" in seen(app)

    play(opening(), part)


def test_a_digit_in_a_sentence_chooses_nothing(opening: Callable[..., Session]) -> None:
    """Typed with the focus on the answers, digits belong to the message; Enter alone sends."""

    async def part(app: Assistant, pilot: Any) -> None:
        await pilot.press("down")
        assert isinstance(app.focused, Offers)
        await pilot.press(*"4090")
        await settle(app, pilot)
        assert app.query_one(MessageInput).text == "4090"
        assert app.session.goal is None
        app.query_one(MessageInput).fill("rank ")
        app.query_one(Offers).focus()
        await pilot.press("3")
        await settle(app, pilot)
        assert app.query_one(MessageInput).text == "rank 3"
        assert app.session.goal is None
        app.query_one(MessageInput).fill("2")
        await pilot.pause()
        assert app.query_one(Offers).highlighted == 1
        await pilot.press("enter")
        await settle(app, pilot)
        assert app.session.goal == "style"

    play(opening(), part)


def test_ctrl_c_says_what_it_does(opening: Callable[..., Session]) -> None:
    """The first press says it, a selection is copied, and the second press quits."""

    async def part(app: Assistant, pilot: Any) -> None:
        message = app.query_one(MessageInput)
        message.fill("qwen")
        message.select_all()
        await pilot.press("ctrl+c")
        assert app.clipboard == "qwen"
        assert app.interrupted == float("-inf")
        message.clear()
        await pilot.press("ctrl+c")
        await pilot.pause(0.3)
        assert "Press Ctrl-C again" in seen(app)
        assert app.return_code is None
        await pilot.press("ctrl+c")
        await pilot.pause()

    app = play(opening(), part, LARGE)
    assert app.return_code == 0


@pytest.mark.prove
def test_messages_are_edited_over_lines_and_found_again(opening: Callable[..., Session]) -> None:
    """A line break has its key, Enter sends, and Up shows what was sent."""

    async def part(app: Assistant, pilot: Any) -> None:
        message = app.query_one(MessageInput)
        await pilot.press(*"lora", "ctrl+j", *"seed", "space", "7", "enter")
        await settle(app, pilot)
        assert app.session.draft.get("/method/type") == "lora"
        assert app.session.draft.get("/training/seed") == 7
        await pilot.press("x", "up")
        assert message.text == "lora\nseed 7"
        await pilot.press("down")
        assert message.text == "x"

    play(opening(), part)


@pytest.mark.prove
def test_a_name_is_completed(opening: Callable[..., Session]) -> None:
    """The list and the rest of the name appear while it is typed; Tab takes it."""

    async def part(app: Assistant, pilot: Any) -> None:
        await pilot.press(*"tick")
        await pilot.pause()
        assert app.query_one(Names).display
        assert app.query_one(MessageInput).suggestion == "ets.csv"
        await pilot.press("tab")
        await pilot.pause()
        assert app.query_one(MessageInput).text == "tickets.csv"
        assert not app.query_one(Names).display
        await pilot.press("space", *"4090")
        await pilot.pause()
        await pilot.click(Names, offset=(4, 1))
        assert app.query_one(MessageInput).text.startswith("tickets.csv RTX-")

    play(opening(), part)


@pytest.mark.prove
@pytest.mark.parametrize("language", ["en", "ca", "es"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_example_is_understood(
    opening: Callable[..., Session], language: str, number: int
) -> None:
    """Each example on the first screen, in each language, leads on."""
    session = opening(language)
    shown = session.start()
    example = next(line for line in shown if line.kind == "examples").cells[number][0]
    session.reply(example)
    understood = session.draft.data or session.goal or len(session.options) > 1
    assert understood, example
    if number == 0:
        assert session.situation.plan is not None, example
    if number == 1:
        assert session.goal == "classify", example
        assert session.draft.get("/data/source") == "tickets.csv", example
    if number == 2:
        assert session.options[0].changes[0].pointer == "/model/id", example


@pytest.mark.prove
def test_a_click_on_an_example_fills_the_message(opening: Callable[..., Session]) -> None:
    """It is not sent yet: the user may change it."""

    async def part(app: Assistant, pilot: Any) -> None:
        await pilot.click(Examples, offset=(4, 1))
        await pilot.pause()
        assert app.query_one(MessageInput).text == app.query_one(Examples).examples[0]
        assert not app.session.draft.data

    play(opening(), part)


@pytest.mark.prove
def test_every_row_says_why(opening: Callable[..., Session]) -> None:
    """Each row of the panel has the reason of its value, in the user's language."""

    async def part(app: Assistant, pilot: Any) -> None:
        await say(app, pilot, EVERYTHING)
        rows = app.query_one("#rows", OptionList)
        rows.focus()
        reasons = set()
        for _ in range(rows.option_count):
            await pilot.press("down")
            await pilot.pause()
            reasons.add(str(app.query_one("#why", Static).content))
        assert rows.option_count > 15
        assert len(reasons) > 10
        assert all(len(reason) > 20 for reason in reasons)

    play(opening("es"), part, LARGE)


@pytest.mark.prove
def test_one_key_applies_a_fix(opening: Callable[..., Session]) -> None:
    """F8 fixes the first finding that has a fix, and the card shows before and after."""

    async def part(app: Assistant, pilot: Any) -> None:
        await say(app, pilot, EVERYTHING, "full fine-tuning")
        assert any(each.is_fixable for each in app.query_one(Findings).shown)
        before = app.session.draft
        await pilot.press("f8")
        await settle(app, pilot)
        if app.session.proposal:
            await pilot.press("down", "enter")
            await settle(app, pilot)
        assert app.session.draft != before
        assert app.session.situation.plan is not None
        await pilot.press("ctrl+z")
        await settle(app, pilot)
        assert app.session.draft == before

    play(opening(), part)


def test_f6_goes_to_the_spec_and_back(opening: Callable[..., Session]) -> None:
    """Down then shows the reason of a row; F6 again returns to the message."""

    async def part(app: Assistant, pilot: Any) -> None:
        await say(app, pilot, EVERYTHING)
        before = str(app.query_one("#why", Static).content)
        await pilot.press("f6", "down")
        await pilot.pause(0.1)
        assert app.query_one("#rows", OptionList).has_focus
        assert str(app.query_one("#why", Static).content) != before
        await pilot.press("f6")
        await pilot.pause(0.1)
        assert app.query_one(MessageInput).has_focus

    play(opening(), part, size=LARGE)
