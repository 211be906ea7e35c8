"""All text is readable: contrast of text and background in each kind of theme."""

import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from rich.color import Color
from rich.segment import Segment

from ftc.tui.front_ends.app import Assistant
from ftc.tui.session.session import Session
from ftc.tui.widgets.bundle import BundleScreen
from ftc.tui.widgets.message import MessageInput
from tests.tui.front_ends.stage import LARGE, play, settle

EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"
#: What the Web Content Accessibility Guidelines 2.2 ask of text (success criterion 1.4.3).
ENOUGH: Final = 4.5
Rgb = tuple[int, ...]
Look = Callable[[Assistant, Any], Awaitable[None]]
#: The colours of a terminal that its palette leaves readable on its own background.
READABLE: Final = {"default", "bright_white", "white", "black", "bright_black"}


def luminance(colour: Rgb) -> float:
    """Return the relative luminance, as defined by WCAG."""
    parts = [part / 255 for part in colour]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: Rgb, second: Rgb) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def words(app: Assistant) -> Iterator[Segment]:
    """Yield the widgets with text on the top screen; screens behind it are dimmed."""
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            if re.search(r"\w", segment.text) and segment.style is not None:
                yield segment


def faint(app: Assistant) -> list[tuple[str, float]]:
    """Return the words with too little contrast, each with its ratio."""
    found = []
    for segment in words(app):
        style = segment.style
        assert style is not None
        if style.color is None or style.bgcolor is None:
            continue
        front, back = style.color.get_truecolor(), style.bgcolor.get_truecolor()
        ratio = contrast(tuple(front), tuple(back))
        if ratio < ENOUGH or style.dim:
            found.append((segment.text.strip(), round(ratio, 2)))
    return found


def coloured(app: Assistant) -> set[tuple[str, str]]:
    """Return the pairs of terminal colours that text uses."""
    pairs = set()
    for segment in words(app):
        assert segment.style is not None
        pairs.add((_name(segment.style.color), _name(segment.style.bgcolor)))
    return pairs


def _name(colour: Color | None) -> str:
    return "default" if colour is None else colour.name


def visit(session: Session, look: Look) -> None:
    """Visit the main screens, and check each."""

    async def part(app: Assistant, pilot: Any) -> None:
        await look(app, pilot)
        for message in ("nowhere.csv", EVERYTHING, "should I use qlora?"):
            await send(app, pilot, message)
            await look(app, pilot)
        await pilot.press("up")
        await look(app, pilot)
        await send(app, pilot, "lora")
        await send(app, pilot, "triage")
        await pilot.press("f9")
        await settle(app, pilot)
        assert isinstance(app.screen, BundleScreen)
        await look(app, pilot)

    play(session, part, LARGE)


async def send(app: Assistant, pilot: Any, text: str) -> None:
    """Send a message as a whole, not letter by letter."""
    message = app.query_one(MessageInput)
    message.focus()
    message.fill(text)
    await pilot.press("enter")
    await settle(app, pilot)


def test_words_stand_out(session: Session) -> None:
    """On every main screen: by WCAG's ratio for text, or in the terminal's colours.

    A terminal's foreground stands on its background; any other pair was chosen as a pair.
    """

    async def look(app: Assistant, pilot: Any) -> None:
        for theme in ("textual-light", "ansi-dark", "ansi-light", "textual-dark"):
            app.theme = theme
            await pilot.pause()
            if theme.startswith("ansi"):
                for front, back in coloured(app):
                    assert front in READABLE or back != "default", (theme, front, back)
            else:
                assert faint(app) == [], theme

    visit(session, look)


def test_words_stand_out_without_colours(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR turns every colour into a grey of the same brightness."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def look(app: Assistant, pilot: Any) -> None:
        await pilot.pause()
        assert app.no_color
        assert faint(app) == []

    visit(session, look)


def test_faint_words_are_found() -> None:
    """The measure distinguishes black on white from grey on grey."""
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((121, 121, 121), (39, 39, 39)) < ENOUGH


def test_the_picture_of_a_theme_is_kept(session: Session, tmp_path: Path) -> None:
    """The palette's command writes the screen as SVG."""

    async def part(app: Assistant, pilot: Any) -> None:
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert titles[:2] == ["colours", "picture"]
        assert len(titles) == len(set(titles))
        app.save_screenshot("screen.svg", path=str(tmp_path))
        await pilot.pause()

    play(session, part)
    assert "What should the" in (tmp_path / "screen.svg").read_text(encoding="utf-8").replace(
        "&#160;", " "
    )
