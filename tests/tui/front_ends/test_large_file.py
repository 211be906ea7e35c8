"""A large file is read in the background: keys work, waiting can be stopped, sampling is shown."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key

from ftc.compiler.resolve import resolver
from ftc.compiler.resolve.data import facts as data
from ftc.compiler.resolve.data.facts import LARGE_BYTES
from ftc.tui.front_ends.app import Assistant
from ftc.tui.session.session import Session
from ftc.tui.widgets.busy import Busy
from ftc.tui.widgets.message import MessageInput
from tests.tui.front_ends.stage import LARGE, play, seen, settle
from tests.tui.front_ends.test_terminal import FTC, Terminal

GIGABYTE = 10**9
ANSWER_SECONDS = 0.05
_PATIENCE_SECONDS = 600.0


def write_large(path: Path, *, size_bytes: int, row_chars: int) -> None:
    """Write distinct rows until the file has its size."""
    words = "where is my parcel, the card has not arrived, please refund the order "
    filling = (words * (row_chars // len(words) + 1))[:row_chars]
    with path.open("w", encoding="utf-8") as file:
        written = number = 0
        while written < size_bytes:
            rows = (
                json.dumps({"text": f"{n} {filling}", "label": f"team {n % 3}"})
                for n in range(number, number + 1000)
            )
            written += file.write("\n".join(rows) + "\n")
            number += 1000


async def type_meanwhile(app: Assistant, *, at_most: int) -> list[float]:
    """Type while a reply is in progress; return the seconds that each character took."""
    message = app.query_one(MessageInput)
    seconds: list[float] = []
    while app.query_one(Busy).active and len(seconds) < at_most:
        length, begin = len(message.text), time.perf_counter()
        app.post_message(Key("x", "x"))
        while len(message.text) == length:  # noqa: ASYNC110 - nothing but time is measured
            await asyncio.sleep(0)
        seconds.append(time.perf_counter() - begin)
        await asyncio.sleep(0.02)
    return sorted(seconds)


async def idle(app: Assistant) -> None:
    """Wait until no reply is in progress; unlike the pilot, do not wait for an idle CPU."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while app.query_one(Busy).active:  # noqa: ASYNC110 - the widget has no event for it
            await asyncio.sleep(0.01)


async def send(app: Assistant, text: str) -> None:
    """Send a message without waiting for the reply."""
    app.query_one(MessageInput).fill(text)
    app.post_message(Key("enter", None))
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not app.query_one(Busy).active:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of files that were read, in order of their start."""
    files: list[str] = []
    real = data.resolve_data

    def resolve(spec: Any, **rest: Any) -> Any:
        files.append(spec.data.source)
        return real(spec, **rest)

    monkeypatch.setattr(resolver, "resolve_data", resolve)
    return files


def read_while_typing(session: Session, *, keys: int, share: float) -> None:
    """Type during the reading of `large.jsonl`, stop waiting, ask again, and read what is said."""

    async def part(app: Assistant, pilot: Any) -> None:
        await send(app, "large.jsonl")
        seconds = await type_meanwhile(app, at_most=keys)
        assert seconds[int(len(seconds) * share)] < ANSWER_SECONDS, seconds
        begin = time.process_time()
        app.post_message(Key("escape", None))
        await idle(app)
        assert time.process_time() - begin < 10 * ANSWER_SECONDS
        assert not app.session.draft.has("/data/source")
        await send(app, "large.jsonl")
        await idle(app)
        await settle(app, pilot)
        assert app.session.draft.get("/data/source") == "large.jsonl"
        assert "lengths are measured on 20,000 random rows" in " ".join(seen(app).split())

    play(session, part, LARGE)


def test_keys_are_answered_while_a_large_file_is_read(
    session: Session, folder: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting stops at once, and asking again joins the read in progress."""
    size = 12 * 1024 * 1024
    assert size < LARGE_BYTES < GIGABYTE
    monkeypatch.setattr("ftc.compiler.resolve.data.facts.LARGE_BYTES", size - 1)
    write_large(folder / "large.jsonl", size_bytes=size, row_chars=400)
    read_while_typing(session, keys=12, share=0.8)
    assert reads == ["large.jsonl"]


@pytest.mark.prove_all
def test_keys_are_answered_while_a_gigabyte_is_read(
    session: Session, folder: Path, reads: list[str]
) -> None:
    """99 % of some hundred keys take less than 50 ms."""
    path = folder / "large.jsonl"
    write_large(path, size_bytes=GIGABYTE, row_chars=1000)
    try:
        read_while_typing(session, keys=400, share=0.99)
    finally:
        path.unlink()
    assert reads == ["large.jsonl"]


@pytest.mark.prove_all
def test_a_terminal_stays_alive_while_a_gigabyte_is_read(folder: Path, tmp_path: Path) -> None:
    """Characters appear in a real terminal; Escape stops waiting, and quitting does not wait."""
    path = folder / "large.jsonl"
    write_large(path, size_bytes=GIGABYTE, row_chars=1000)
    terminal = Terminal(tmp_path)
    command = " ".join([*FTC, "chat", "--lang", "en"])
    terminal.do("new-session", "-d", "-x", "80", "-y", "24", "-c", str(folder), command)
    try:
        terminal.wait_for("What should the model learn to do?")
        terminal.type("large.jsonl")
        terminal.wait_for("press Escape to stop waiting")
        seconds = []
        for count in range(1, 21):
            begin = time.perf_counter()
            terminal.do("send-keys", "-l", "x")
            terminal.wait_for("x" * count)
            seconds.append(time.perf_counter() - begin)
        # each look at the screen starts a process of tmux, and waits a tenth of a second
        assert sorted(seconds)[10] < ANSWER_SECONDS + 0.2, seconds
        terminal.do("send-keys", "Escape")
        terminal.wait_for("Stopped waiting")
        begin = time.perf_counter()
        terminal.do("send-keys", "C-q")
        while terminal.is_alive() and time.perf_counter() - begin < 10:
            time.sleep(0.05)
        assert time.perf_counter() - begin < 3
    finally:
        terminal.end()
        path.unlink()
