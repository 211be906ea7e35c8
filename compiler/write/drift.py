"""The drift: how the files on disk differ from what the spec compiles to."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.write.disk import FOLDER, LINK, DiskFailure, state
from ftc.compiler.write.explanations import (
    EDITED,
    IN_THE_WAY,
    LINKED,
    MISSING,
    OTHER_FTC,
    OUTDATED,
    STALE,
)
from ftc.compiler.write.lock import LOCK_NAME, Lock, dump_lock, hash_text, read_lock
from ftc.spec.findings.finding import Finding
from ftc.spec.message import Message, reason_of

Kind = Literal["missing", "edited", "outdated", "stale", "other_ftc", "linked", "folder"]

_SHOWN_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One file that is not what the spec compiles to.

    `diff` is a unified diff from the disk to what a compile would write, "" where there is none to
    show; it ends in a newline.
    """

    name: str
    kind: Kind
    finding: Finding
    diff: str


def find_drift(folder: Path, files: Sequence[RenderedFile], lock: Lock) -> tuple[Drift, ...]:
    """Return every difference between the disk and these files with this lock, by name.

    `lock` is the lock that a compile would write now; the one on disk is read from `folder`. Raises
    LockFailure when that one is damaged. Nothing is written.
    """
    old = read_lock(folder)
    wanted = {file.name: file.text for file in files} | {LOCK_NAME: dump_lock(lock)}
    names = sorted({*wanted, *(old.files if old else ())})
    found = (_compare(folder, name, wanted.get(name), old, lock) for name in names)
    return tuple(drift for drift in found if drift is not None)


def _compare(
    folder: Path, name: str, text: str | None, old: Lock | None, new: Lock
) -> Drift | None:
    path = folder / name
    try:
        now = state(path)
        if now == (None if text is None else hash_text(text)):
            return None
        diff = "" if now in {LINK, FOLDER} else _diff(path, name, text)
    except OSError as error:
        raise DiskFailure(
            message=Message(
                "failure.unreadable.message", {"name": name, "reason": reason_of(error)}
            ),
            help=Message("failure.unreadable.help"),
        ) from error
    kind = _kind(name, now, text, old, new)
    return Drift(name=name, kind=kind, finding=_finding(name, kind, old, new), diff=diff)


def _kind(name: str, now: str | None, text: str | None, old: Lock | None, new: Lock) -> Kind:
    if now is None:
        return "missing"
    if now == LINK:
        return "linked"
    if now == FOLDER:
        return "folder"
    # The lock holds no hash of itself, so an edit of it cannot be told from an older one.
    if name != LOCK_NAME and (old is None or now != old.files.get(name)):
        return "edited"
    if text is None:
        return "stale"
    return "other_ftc" if old is not None and old.ftc != new.ftc else "outdated"


def _finding(name: str, kind: Kind, old: Lock | None, new: Lock) -> Finding:
    match kind:
        case "missing":
            return MISSING.finding(file=name)
        case "linked":
            return LINKED.finding(help="check", file=name)
        case "folder":
            return IN_THE_WAY.finding(message="check", help="check", file=name)
        case "edited":
            return EDITED.finding(message="check", help="check", file=name)
        case "stale":
            return STALE.finding(file=name)
        case "outdated":
            return OUTDATED.finding(file=name)
        case "other_ftc":
            before = old.ftc if old else "another version"
            return OTHER_FTC.finding(file=name, before_version=before, new_version=new.ftc)


def _diff(path: Path, name: str, text: str | None) -> str:
    """Return the diff, or a word instead if the file is huge or not text."""
    before = _read(path)
    if before is None:
        return f"Binary file {name} differs\n"
    lines = difflib.unified_diff(
        before.splitlines(keepends=True),
        (text or "").splitlines(keepends=True),
        fromfile=f"a/{name}" if path.exists() else "/dev/null",
        tofile=f"b/{name}" if text is not None else "/dev/null",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _read(path: Path) -> str | None:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if len(content) > _SHOWN_BYTES:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
