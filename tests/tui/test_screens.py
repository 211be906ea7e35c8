"""The screens: all of their text at two sizes, committed beside this file.

`pytest tests/tui/test_screens.py --update-golden` writes them anew; the difference is read before
it is committed. Colours are not in them: what a screen says, it says in letters. The colours of one
screen, dark and light, are in files of their own.
"""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import psutil
import pytest

from ftc.compiler.resolve import hardware
from ftc.tui.app import Assistant
from ftc.tui.opening import make_session
from ftc.tui.widgets.message import MessageInput
from tests.tui.stage import LARGE, SMALL, painted, play, say, seen, settle

SCREENS = Path(__file__).parent / "screens"
EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"

#: name of the screen -> the language, what is said first, and which keys are pressed then
PLAYED: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "opening": ("en", (), ()),
    "opening-ca": ("ca", (), ()),
    "opening-es": ("es", (), ()),
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


#: The screens whose two panes are worth a second, wide picture.
WIDE: Final = ("opening", "method", "method-ca", "models", "does-not-fit")
DRAWN: Final = (*((name, SMALL) for name in PLAYED), *((name, LARGE) for name in WIDE))


@pytest.mark.parametrize(("name", "size"), DRAWN, ids=str)
def test_a_screen_is_as_committed(
    name: str,
    size: tuple[int, int],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    update_golden: bool,
) -> None:
    """The text is identical; the cursor does not blink and nothing moves."""
    language, messages, keys = PLAYED[name]
    monkeypatch.chdir(folder)
    _fix_machine(monkeypatch)
    session = make_session(Path(), language=language, spec=None)
    shown: list[str] = []

    async def part(app: Assistant, pilot: Any) -> None:
        app.query_one(MessageInput).cursor_blink = False
        await say(app, pilot, *messages)
        for key in keys:
            await pilot.press(key)
            await settle(app, pilot)
        await pilot.pause(0.2)
        shown.append(seen(app))

    play(session, part, size)
    path = SCREENS / f"{name}-{size[0]}x{size[1]}.txt"
    if update_golden:
        path.write_text(shown[0], encoding="utf-8")
    assert shown[0] == path.read_text(encoding="utf-8")


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


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light"])
def test_the_colours_are_as_committed(
    theme: str, folder: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    """The colours of a screen with bars, a finding, a card and answers, in dark and in light."""
    _fix_machine(monkeypatch)
    monkeypatch.chdir(folder)
    session = make_session(Path(), language="en", spec=None)
    colours: list[str] = []

    async def part(app: Assistant, pilot: Any) -> None:
        app.theme = theme
        app.query_one(MessageInput).cursor_blink = False
        await say(app, pilot, EVERYTHING)
        await pilot.pause(0.2)
        colours.append(painted(app))

    play(session, part, LARGE)
    path = SCREENS / f"colours-{theme}.txt"
    if update_golden:
        path.write_text(colours[0], encoding="utf-8")
    assert colours[0] == path.read_text(encoding="utf-8")


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
    colours = {f"colours-textual-{each}.txt" for each in ("dark", "light")}
    wanted = colours | {f"{name}-{width}x{height}.txt" for name, (width, height) in DRAWN}
    assert {path.name for path in SCREENS.iterdir()} == wanted
