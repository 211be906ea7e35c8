"""Three recorded conversations, from the first word to the bundle, replayed in plain mode.

Each file of `conversations/` is what a person reads: the assistant's lines, and the person's after
a "> ". Below the end are the bundle's files with the beginning of their hashes,
without the lock, which has the hash of every file and ftc's version.
`pytest tests/tui/conversation/test_conversations.py --update-golden` writes what the assistant
says now.
"""

import hashlib
import io
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import psutil
import pytest

from ftc.compiler.resolve import hardware
from ftc.tui.front_ends.plain import converse
from ftc.tui.session.opening import make_session
from tests.end_to_end.process import QUICKSTART

RECORDED: Final = Path(__file__).with_name("conversations")
LANGUAGES: Final = {"catalan_engineer": "ca", "expert": "en", "spanish_student": "es"}
_END: Final = "----\n"
_HASH: Final = 12
_RAM: Final = 24 * 2**30
_DISK: Final = 100 * 2**30


class Typist(io.StringIO):
    """Types a line when it is asked for one, and shows it where the answers go."""

    def __init__(self, lines: list[str], shown: io.StringIO) -> None:
        super().__init__()
        self.lines, self.shown = lines, shown

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        """Return the next line, or nothing at the end."""
        del size
        if not self.lines:
            return ""
        line = f"{self.lines.pop(0)}\n"
        self.shown.write(line)
        return line


def replay(folder: Path, name: str, said: list[str]) -> str:
    """Return the whole conversation as text, and the bundle's files."""
    shown = io.StringIO()
    session = make_session(folder, language=LANGUAGES[name], spec=None)
    converse(session, Typist(said, shown), shown)
    assert session.finished is not None, shown.getvalue()[-2000:]
    assert session.finished.bundle is not None
    bundle = session.finished.bundle
    paths = [path for path in sorted(bundle.iterdir()) if path.name != "ftc.lock.json"]
    listed = "".join(f"{_hash(path)}  {path.name}\n" for path in paths)
    return shown.getvalue().replace(f"{folder}/", "") + _END + listed


def _hash(path: Path) -> str:
    """Return the beginning of a file's hash, or of all hashes of a folder."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()[:_HASH]
    inner = (f"{each.name} {_hash(each)}" for each in sorted(path.iterdir()))
    return hashlib.sha256("\n".join(inner).encode()).hexdigest()[:_HASH]


@pytest.mark.prove
@pytest.mark.parametrize("name", LANGUAGES)
def test_a_recorded_conversation_goes_as_before(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    """The same words, and the same bundle, byte for byte; nothing is asked of the network."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(hardware, "_ram", lambda _: _RAM)
    monkeypatch.setattr(hardware, "_cores", lambda: 2)
    monkeypatch.setattr(hardware, "read_gpus", tuple)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=_RAM))
    monkeypatch.setattr(psutil, "disk_usage", lambda _: SimpleNamespace(free=_DISK))
    (folder / "tickets.csv").unlink()
    if name != "spanish_student":
        shutil.copy(QUICKSTART / "tickets.csv", folder)
    path = RECORDED / f"{name}.txt"
    recorded = path.read_text(encoding="utf-8")
    talk = recorded.partition(_END)[0]
    said = [line[2:] for line in talk.splitlines() if line.startswith("> ")]
    now = replay(folder, name, said)
    if update_golden:
        path.write_text(now, encoding="utf-8")
    assert now == path.read_text(encoding="utf-8")
    assert max(map(_questions, now.partition(_END)[0].split("\n> "))) <= 1


def _questions(turn: str) -> int:
    """Return how many questions a turn of the assistant asks; its options are not questions."""
    said = turn.partition("\n")[2]
    lines = [line for line in said.splitlines() if not line.startswith("  ")]
    return sum(line.count("?") for line in lines)
