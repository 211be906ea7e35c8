"""A folder with data, and a session in it that only uses the built-in table."""

from pathlib import Path

import pytest

from ftc.tui.languages.voice import Voice
from ftc.tui.session.session import Session
from ftc.tui.state.draft import read_draft
from ftc.tui.state.situation import Observer

ROWS = 240
SPEC = {
    "name": "triage",
    "model": "Qwen/Qwen2.5-7B-Instruct",
    "data": "tickets.csv",
    "hardware": "1x RTX-4090",
    "method": "lora",
    "export": [],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with `tickets.csv`, without a Hub, and with separate saved state."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    place = tmp_path / "work"
    place.mkdir()
    teams = ("billing", "delivery", "returns")
    lines = [
        f"my parcel number {n} has a problem with {teams[n % 3]},{teams[n % 3]}"
        for n in range(ROWS)
    ]
    (place / "tickets.csv").write_text("\n".join(["text,label", *lines]) + "\n", encoding="utf-8")
    return place


@pytest.fixture
def session(folder: Path) -> Session:
    """Return a started session in English."""
    talk = Session(observer=Observer(folder=folder), voice=Voice(language="en"))
    talk.start()
    return talk


@pytest.fixture
def whole(folder: Path) -> Session:
    """Return a started session about a whole spec."""
    talk = Session(observer=Observer(folder=folder), draft=read_draft(SPEC))
    talk.start()
    return talk
