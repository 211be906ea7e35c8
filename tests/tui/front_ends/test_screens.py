"""Screens against the committed files: text at two sizes, colours in the dark and light theme.

`pytest tests/tui/front_ends/test_screens.py --update-golden` writes them anew; the difference is
read before it is committed. What a screen says, it says in letters: its text is the same in both
themes.
"""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import psutil
import pytest
from textual.widgets import Input

from ftc.compiler.resolve import hardware
from ftc.tui.front_ends.app import Assistant
from ftc.tui.session.opening import make_session
from ftc.tui.state.draft import Draft
from ftc.tui.state.saved_state import Kept, keep
from ftc.tui.understanding.reading import Change
from ftc.tui.widgets.message import MessageInput
from tests.tui.front_ends.stage import LARGE, SMALL, painted, play, say, seen, settle

SCREENS = Path(__file__).parent / "screens"
EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"

#: name of the screen -> the language, what is said first, and which keys are pressed then
PLAYED: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "opening": ("en", (), ()),
    "opening-ca": ("ca", (), ()),
    "opening-es": ("es", (), ()),
    "resume-ca": ("ca", (), ()),
    "method": ("en", (EVERYTHING,), ()),
    "method-ca": ("ca", (EVERYTHING,), ()),
    "why": ("en", (EVERYTHING,), ("f2",)),
    "side": ("en", (EVERYTHING,), ("f6",)),
    "models": ("en", ("tickets.csv, a 4090", "which models"), ()),
    "does-not-fit": ("en", (EVERYTHING, "full fine-tuning"), ()),
    "explained": ("en", ("what is ZeRO-3",), ()),
    "what-if": ("en", (EVERYTHING, "what if I had two A100s"), ()),
    "spec": ("en", (EVERYTHING,), ("f4",)),
    "no-such-file": ("en", ("data is nowhere.csv",), ()),
    "done": ("en", (EVERYTHING, "lora", "triage"), ()),
    "bundle": ("en", (EVERYTHING, "lora", "triage"), ("f9", "home")),
    "help": ("en", (), ("f1",)),
    "palette": ("en", (), ("ctrl+p",)),
}


THEMES: Final = ("textual-dark", "textual-light")


#: The screens that share their layout with others: `make prove-all` looks at them.
FURTHER: Final = ("opening-es", "why", "side", "explained", "what-if", "spec", "no-such-file")


@pytest.mark.parametrize("name", [each for each in PLAYED if each not in FURTHER])
def test_a_screen_is_as_committed(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    """Text and colours are identical; the cursor does not blink and nothing moves."""
    _compare(name, folder, monkeypatch, update_golden=update_golden)


@pytest.mark.prove_all
@pytest.mark.parametrize("name", FURTHER)
def test_a_further_screen_is_as_committed(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    """The same for the other screens."""
    _compare(name, folder, monkeypatch, update_golden=update_golden)


def _compare(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, update_golden: bool
) -> None:
    """Compare one conversation's screens, or write them.

    The terminal is resized and the theme changed in one conversation, as a user does it.
    """
    language, messages, keys = PLAYED[name]
    monkeypatch.chdir(folder)
    _fix_machine(monkeypatch)
    if name.startswith("resume"):
        _keep_a_draft()
    session = make_session(Path(), language=language, spec=None)
    shown: dict[str, str] = {}
    colours: list[str] = []

    async def part(app: Assistant, pilot: Any) -> None:
        app.query_one(MessageInput).cursor_blink = False
        await say(app, pilot, *messages)
        for key in keys:
            await pilot.press(key)
            await settle(app, pilot)
        for line in app.screen.query(Input):  # the palette's
            line.cursor_blink = False
        app.theme = THEMES[-1]  # a change of theme lays the scrollbars out anew
        await pilot.pause()
        for width, height in (SMALL, LARGE):
            await pilot.resize_terminal(width, height)
            for theme in THEMES:
                app.theme = theme
                now = await _settled(app, pilot)
                text = shown.setdefault(f"{name}-{width}x{height}.txt", now)
                assert now == text, theme
                colours.append(f"# {theme}, {width}x{height}\n{painted(app)}")

    play(session, part)
    shown[f"{name}-colours.txt"] = "\n".join(colours)
    for file, text in shown.items():
        if update_golden:
            (SCREENS / file).write_text(text, encoding="utf-8")
        assert text == (SCREENS / file).read_text(encoding="utf-8"), file


async def _settled(app: Assistant, pilot: Any) -> str:
    """Return the text of the screen as soon as it stays as it is."""
    before, now = "", seen(app)
    while now != before:
        await pilot.pause(0.1)
        before, now = now, seen(app)
    return now


def _keep_a_draft() -> None:
    """Save a draft, as the assistant does when it is left."""
    values = {
        "/name": "triage",
        "/model/id": "meta-llama/Llama-3.1-8B-Instruct",
        "/data/source": "tickets.csv",
        "/method/rank": 16,
        "/export/types": ["Q4_K_M", "Q8_0"],
    }
    said = (Change(pointer=at, value=value, words="") for at, value in values.items())
    keep(Path(), Kept(draft=Draft().changed(tuple(said)), transcript=()))


@pytest.mark.parametrize("name", ["method", "no-such-file"])
def test_without_colours_the_screen_says_the_same(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR changes no text, and leaves only shades of grey."""
    monkeypatch.chdir(folder)
    _fix_machine(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    session = make_session(Path(), language="en", spec=None)
    pictures: list[str] = []

    async def part(app: Assistant, pilot: Any) -> None:
        await say(app, pilot, *PLAYED[name][1])
        await pilot.pause(0.2)
        assert seen(app) == (SCREENS / f"{name}-80x24.txt").read_text(encoding="utf-8")
        pictures.append(app.export_screenshot())

    play(session, part)
    assert _colours(pictures[0]) <= {"#c5c8c6", "#292929", "#ff5f57", "#febc2e", "#28c840"}


def _colours(picture: str) -> set[str]:
    """Return the colours of a picture that are not shades of grey."""
    found = {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}\b", picture)}
    return {each for each in found if len({each[1:3], each[3:5], each[5:7]}) > 1}


def _fix_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the same machine everywhere: it is told at the start, and is an answer on offer."""
    monkeypatch.setattr(hardware, "_ram", lambda _: 24 * 2**30)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=24 * 2**30))
    disk = SimpleNamespace(free=100 * 2**30)
    monkeypatch.setattr(psutil, "disk_usage", lambda _: disk)
    monkeypatch.setattr(hardware, "_cores", lambda: 2)
    monkeypatch.setattr(hardware, "read_gpus", tuple)


def test_a_committed_screen_belongs_to_a_test() -> None:
    """There are no unused files, and none is missing."""
    kinds = ("80x24", "120x36", "colours")
    wanted = {f"{name}-{kind}.txt" for name in PLAYED for kind in kinds}
    assert {path.name for path in SCREENS.iterdir()} == wanted
