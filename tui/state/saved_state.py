"""State saved between starts: drafts, transcripts, the theme, and the servers offered."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ftc.tui.state.draft import Draft
from ftc.tui.state.line import Line, Row

_VERSION: Final = 1
_THEME: Final = "theme"
_OFFERED: Final = "offered-servers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The saved state of a conversation."""

    draft: Draft
    transcript: tuple[Line, ...]

    @property
    def said(self) -> tuple[str, ...]:
        """The user's messages."""
        return tuple(line.text for line in self.transcript if line.who == "you")


def keep(folder: Path, kept: Kept) -> None:
    """Save a conversation; an empty one deletes what was saved before.

    A file that cannot be written is ignored: the saved draft is a convenience.
    """
    path = _path(folder)
    try:
        if not kept.draft.data:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        content = {
            "version": _VERSION,
            "draft": {"data": kept.draft.data, "chosen": sorted(kept.draft.chosen)},
            "transcript": [asdict(line) for line in kept.transcript],
        }
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        partial.replace(path)
    except OSError:
        return


def find_kept(folder: Path) -> Kept | None:
    """Return the saved conversation of a folder; None if there is none."""
    try:
        content: Any = json.loads(_path(folder).read_text(encoding="utf-8"))
        if content["version"] != _VERSION:
            return None
        draft = Draft(data=content["draft"]["data"], chosen=frozenset(content["draft"]["chosen"]))
        lines = tuple(_line(line) for line in content["transcript"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return Kept(draft=draft, transcript=lines)


def _line(saved: dict[str, Any]) -> Line:
    """Return a saved line, with lists converted back to tuples."""
    card = tuple(Row(*row) for row in saved.get("card", ()))
    cells = tuple(tuple(row) for row in saved.get("cells", ()))
    return Line(**{**saved, "card": card, "cells": cells})


def keep_theme(name: str) -> None:
    """Save the theme for the next start, in any folder."""
    path = _place() / _THEME
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(name, encoding="utf-8")
    except OSError:
        return


def find_theme() -> str | None:
    """Return the saved theme; None if there is none."""
    try:
        return (_place() / _THEME).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None


def keep_offered(address: str) -> None:
    """Save that the server at an address was offered, so that it is not offered again."""
    path = _place() / _OFFERED
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text("\n".join([*find_offered(), address]), encoding="utf-8")
    except OSError:
        return


def find_offered() -> tuple[str, ...]:
    """Return the addresses of the servers that were offered."""
    try:
        return tuple((_place() / _OFFERED).read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return ()


def _path(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    return _place() / f"{name}.json"


def _place() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "ftc"
