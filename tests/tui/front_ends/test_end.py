"""The end of the chat on the screen: run, rehearse, watch, and a README in the user's language."""

import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from ftc.tui.front_ends.app import Assistant
from ftc.tui.session.opening import make_session
from ftc.tui.watch.screen import WatchScreen
from ftc.tui.widgets.bundle import BundleScreen
from ftc.tui.widgets.log import LogScreen
from tests.tui.front_ends.stage import LARGE, play, say, seen, settle

EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"


@pytest.mark.prove
def test_the_end_starts_the_run_and_watches_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its packages it says so; with them it starts run.sh and opens its screen."""
    bundle = folder / "triage"
    monkeypatch.chdir(folder)

    async def part(app: Assistant, pilot: Any) -> None:
        await say(app, pilot, EVERYTHING, "2", "triage")
        await pilot.press("f9")
        await settle(app, pilot)
        (bundle / ".venv/bin").mkdir(parents=True)
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        python = bundle / ".venv/bin/python"
        python.write_text("#!/bin/sh\necho torch; echo trl\n")
        python.chmod(0o755)
        await pilot.press("r")
        await wait_for(app, pilot, "2 packages are missing (torch, trl): install them")
        python.write_text("#!/bin/sh\nexit 0\n")
        (bundle / "run.sh").write_text("#!/bin/sh\necho it runs\nexec sleep 20\n")
        await pilot.click("#does-run")
        await wait_for(app, pilot, "it runs")
        assert isinstance(app.screen, WatchScreen)
        await pilot.press("q")
        await wait_for(app, pilot, "Started as process")
        pid = int(re.findall(r"process (\d+)", seen(app))[0])
        os.kill(pid, signal.SIGTERM)
        await pilot.press("escape")
        assert app.is_running

    play(make_session(Path(), language="en", spec=None), part, LARGE)


async def wait_for(app: Assistant, pilot: Any, text: str) -> None:
    """Wait until a text is on the screen."""
    async with asyncio.timeout(30):
        while text not in seen(app):
            await pilot.pause(0.05)


@pytest.mark.prove
def test_the_end_in_catalan_offers_a_readme_and_a_rehearsal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The README is added to the bundle and shown; the rehearsal's lines come to a screen."""
    monkeypatch.chdir(folder)

    async def part(app: Assistant, pilot: Any) -> None:
        await say(app, pilot, EVERYTHING, "2", "triage")
        await pilot.press("f9")
        await settle(app, pilot)
        assert "README en català (l)" in seen(app)
        english = (folder / "triage/train.py").read_bytes()
        await pilot.press("l")
        await wait_for(app, pilot, "Aquesta pàgina resumeix")
        assert (folder / "triage/README.ca.md").is_file()
        assert (folder / "triage/train.py").read_bytes() == english
        await pilot.press("e")
        await wait_for(app, pilot, "rehearsal.log")
        assert isinstance(app.screen, LogScreen)
        await wait_for(app, pilot, "Ha acabat.")
        await pilot.press("escape")
        assert isinstance(app.screen, BundleScreen)

    play(make_session(Path(), language="ca", spec=None), part, LARGE)
