"""The screen of a run: every letter at two sizes, its colours, its keys, and ten thousand points.

`pytest tests/tui/watch/test_screen.py --update-golden` writes the screens anew.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.color import Color
from textual.content import Content

from ftc.tui.languages.voice import LANGUAGES, Language, Voice
from ftc.tui.watch import screen
from ftc.tui.watch.app import Watch
from ftc.tui.watch.curve import CurvePane
from ftc.tui.watch.run import Watched
from ftc.tui.watch.words import find_facts
from tests.tui.front_ends.stage import LARGE, SMALL, seen
from tests.tui.front_ends.test_colours import READABLE, coloured, faint
from tests.tui.watch.folder import BEGAN, Bundle, begin

SCREENS = Path(__file__).parent / "screens"
NAMES = ("waiting", "training", "failed", "done", "several")


def make(name: str, folder: Path) -> list[Bundle]:
    """Return the bundles of a screen."""
    if name == "several":
        return [make(each, folder / each)[0] for each in ("training", "failed", "done")]
    folder.parent.mkdir(exist_ok=True, parents=True)
    if name == "waiting":
        return [Bundle(folder)]
    bundle = begin(folder)
    bundle.train_to({"training": 40, "failed": 25, "done": 100}[name])
    if name == "failed":
        bundle.note("train", "failed", 52, code=1, sentence="post-condition failed: x is finite")
    if name == "done":
        bundle.note("train", "done", 202, seconds=210.0)
        for at, stage in enumerate(("merge", "evaluate", "quantize")):
            bundle.note(stage, "began", 210 + at)
            bundle.note(stage, "done", 211 + at, seconds=12.0)
    return [bundle]


def play(
    bundles: Sequence[Bundle],
    part: Callable[[Watch, Any], Awaitable[None]],
    size: tuple[int, int] = SMALL,
) -> Watch:
    """Open the screen at a moment, play a part, and return it after the end."""
    watched = [Watched(bundle.folder) for bundle in bundles]

    def clock() -> float:
        return BEGAN + 81  # the moment of every screen

    app = Watch(watched, [each.look(clock()) for each in watched], clock)
    app.animation_level = "none"

    async def perform() -> None:
        async with app.run_test(size=size) as pilot:
            for _ in range(100):  # the line of keys is made once the rest is there
                await pilot.pause(0.05)
                if "q leave" in seen(app):  # type: ignore[arg-type]  # a screen is a screen
                    break
            await part(app, pilot)

    asyncio.run(perform())
    return app


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start without saved state, as a first start does."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "120x36"])
@pytest.mark.parametrize("name", NAMES)
def test_a_screen_is_as_committed(
    name: str, size: tuple[int, int], tmp_path: Path, update_golden: bool
) -> None:
    """Letter by letter."""
    shown: list[str] = []

    async def part(app: Watch, _: Any) -> None:
        shown.append(seen(app))  # type: ignore[arg-type]  # a screen is a screen

    play(make(name, tmp_path / "b"), part, size)
    path = SCREENS / f"{name}-{size[0]}x{size[1]}.txt"
    if update_golden:
        path.write_text(shown[0], encoding="utf-8")
    assert shown[0] == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_fact_is_cut_on_a_small_screen(language: Language, tmp_path: Path) -> None:
    """At 80 columns each fact is whole on one line, and together they leave the curve its room."""
    (bundle,) = make("training", tmp_path / "b")
    run = Watched(bundle.folder).look(BEGAN + 81)
    facts = find_facts(run, Voice(language=language))
    flowing = screen._flow(facts, 78)
    assert isinstance(flowing, Content)
    lines = flowing.plain.replace("\u00a0", " ").splitlines()
    assert len(lines) <= 5
    assert max(map(len, lines)) <= 78
    assert all(any(f"{each.name} {each.text}" in line for line in lines) for each in facts), lines


def test_a_committed_screen_belongs_to_a_test() -> None:
    """No file is left behind, and none is missing."""
    wanted = {f"{name}-{width}x{height}.txt" for name in NAMES for width, height in (SMALL, LARGE)}
    assert {path.name for path in SCREENS.iterdir()} == wanted


def test_words_stand_out(tmp_path: Path) -> None:
    """As on the assistant's screens: in each kind of theme, and without colours."""

    async def part(app: Any, pilot: Any) -> None:
        for theme in ("textual-light", "ansi-dark", "ansi-light", "textual-dark"):
            app.theme = theme
            await pilot.pause()
            if theme.startswith("ansi"):
                for front, back in coloured(app):
                    assert front in READABLE or back != "default", (theme, front, back)
            else:
                assert faint(app) == [], theme

    play(make("several", tmp_path), part, LARGE)


def test_a_severity_has_its_own_mark_and_colour(tmp_path: Path) -> None:
    """In light and dark at 120x36: failure in the theme's colour of errors, letters the same."""
    (bundle,) = make("failed", tmp_path / "b")
    bundle.log(60, 26, loss=None)
    shown = set()

    async def part(app: Any, pilot: Any) -> None:
        for theme in ("textual-light", "textual-dark"):
            app.theme = theme
            await pilot.pause(0.1)
            shown.add(seen(app))
            wanted = Color.parse(app.theme_variables["text-error"]).rgb
            marks = [
                tuple(segment.style.color.get_truecolor())
                for strip in app.screen._compositor.render_strips()
                for segment in strip
                if "✗" in segment.text and segment.style and segment.style.color
            ]
            assert marks == [wanted, wanted], theme  # the stage's, and the alert's

    play([bundle], part, (120, 36))
    (letters,) = shown
    assert "✗ the loss is not a number at step 26" in letters


def test_words_stand_out_without_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR changes no letter."""
    monkeypatch.setenv("NO_COLOR", "1")

    async def part(app: Any, _: Any) -> None:
        assert app.no_color
        assert faint(app) == []
        assert seen(app) == (SCREENS / "training-80x24.txt").read_text(encoding="utf-8")

    play(make("training", tmp_path / "b"), part)


def test_what_is_written_meanwhile_comes_on_the_screen(tmp_path: Path) -> None:
    """A new step, then the end of the stage; a screen of another size draws it anew."""
    (bundle,) = make("training", tmp_path / "b")

    async def part(app: Any, pilot: Any) -> None:
        bundle.train_to(41, first=41, at=80)
        await wait_for(app, pilot, "step 41 of 100")
        await pilot.resize_terminal(60, 18)
        await pilot.pause(0.2)
        assert max(len(line) for line in seen(app).splitlines()) <= 60
        await wait_for(app, pilot, "step 41 of 100")
        bundle.note("train", "stopped", 84, code=75, sentence="told to stop")
        await wait_for(app, pilot, "exit code 75")

    play([bundle], part)


def test_a_folder_that_goes_away_is_told(tmp_path: Path) -> None:
    """The screen keeps what it had."""
    (bundle,) = make("training", tmp_path / "b")

    async def part(app: Any, pilot: Any) -> None:
        bundle.folder.rename(tmp_path / "elsewhere")
        await wait_for(app, pilot, "there is no folder")
        assert "step 40 of 100" in seen(app)

    play([bundle], part)


def test_the_arrows_choose_a_run(tmp_path: Path) -> None:
    """The one under the cursor is shown below the list."""

    async def part(app: Any, pilot: Any) -> None:
        await pilot.press("down")
        await pilot.pause()
        assert app.screen.runs[app.screen.shown].state == "failed"
        assert seen(app).count("post-condition failed") == 2
        assert app.screen.query_one("#state").has_class("failed")

    play(make("several", tmp_path), part)


def test_keys_zoom_smooth_and_show_the_output(tmp_path: Path) -> None:
    """Each at once, and the first screen comes back."""
    (bundle,) = make("training", tmp_path / "b")
    bundle.append("run/output.log", "".join(f"printed {n}\n" for n in range(90)))

    async def part(app: Any, pilot: Any) -> None:
        first = seen(app)
        assert "printed 88\n printed 89" in first
        assert "printed 87" not in first
        for key, shown, hidden in (
            ("s", "smoothed by 0.9", "0.6"),
            ("h", "step 20", "step 1 "),
            ("left", "step 15", "40│"),
            ("plus", "step 25", "step 15"),
            ("n", "step 1 ", "step 25"),
            ("o", "printed 75", "loss of training"),
            ("o", "loss of training", "printed 75"),
        ):
            await pilot.press(key)
            await pilot.pause(0.1)
            assert shown in seen(app), key
            assert hidden not in seen(app), key
        for key in ("a", "s", "s", "s"):
            await pilot.press(key)
        await pilot.pause(0.1)
        assert seen(app) == first

    play([bundle], part)


def test_a_failed_run_says_what_to_do_and_what_it_printed(tmp_path: Path) -> None:
    """The end of its log, which has no valid letters either, and the advice for its exit code."""
    (bundle,) = make("failed", tmp_path / "b")
    log = bundle.folder / "run/output.log"
    log.write_bytes(b"\xff\x00 start\n" * 20 + b"RuntimeError: the disk is full\n")

    async def part(app: Any, _: Any) -> None:
        shown = seen(app)
        assert "→ Correct the cause, then start ./run.sh again" in shown
        assert "RuntimeError: the disk is full" in shown
        assert app.screen.query_one("#alerts").display

    play([bundle], part)


@pytest.mark.parametrize("key", ["q", "ctrl+c", "escape"])
def test_a_key_leaves(tmp_path: Path, key: str) -> None:
    """At once, without an error."""

    async def part(app: Any, pilot: Any) -> None:
        await pilot.press(key)
        await pilot.pause()
        assert not app.is_running

    app = play(make("training", tmp_path / "b"), part)
    assert app.return_code == 0


def test_ten_thousand_points_stay_fluid(tmp_path: Path) -> None:
    """A key is answered, and a reading shown, in far less than the second between readings."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(10_000)

    async def part(app: Any, pilot: Any) -> None:
        await pilot.pause(1.2)
        began = time.process_time()
        app.screen.query_one(CurvePane).refresh()
        app.screen.show_run()
        await pilot.pause()
        assert time.process_time() - began < 0.6
        assert "step 10,000 of 100" in seen(app)

    play([bundle], part, LARGE)


async def wait_for(app: Any, pilot: Any, text: str) -> None:
    """Wait until a text is on the screen."""
    async with asyncio.timeout(20):
        while text not in seen(app):
            await pilot.pause(0.05)
