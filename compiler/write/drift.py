"""The drift: how the files on disk differ from what the spec compiles to."""

import contextlib
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ftc.compiler.render.file import RenderedFile
from ftc.compiler.write.disk import FOLDER, LINK, DiskFailure, state
from ftc.compiler.write.lock import LOCK_NAME, Lock, dump_lock, hash_text, read_lock
from ftc.compiler.write.pages import EDITED, IN_THE_WAY, LINKED, MISSING, OTHER_FTC, OUTDATED, STALE
from ftc.spec.finding import Finding

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
    with _readable(name):
        now = state(folder / name)
    if (now is None and text is None) or (text is not None and now == hash_text(text)):
        return None
    kind = _kind(name, now, text, old, new)
    with _readable(name):
        diff = "" if now in {LINK, FOLDER} else _diff(folder / name, name, text)
    return Drift(
        name=name,
        kind=kind,
        finding=_finding(name, kind, old, new),
        diff=diff,
    )


@contextlib.contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DiskFailure(
            message=f"`{name}` cannot be read: {(error.strerror or '').lower()}",
            help="make the file readable, then check again",
        ) from error


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
    again = "run `ftc compile` without `--check`"
    match kind:
        case "missing":
            return MISSING.finding(message=f"`{name}` is not in the bundle", help=again)
        case "linked":
            return LINKED.finding(
                message=f"`{name}` is a symbolic link", help=f"remove the link, then {again}"
            )
        case "folder":
            return IN_THE_WAY.finding(
                message=f"`{name}` is a folder", help=f"move the folder away, then {again}"
            )
        case "edited":
            return EDITED.finding(
                message=f"`{name}` was edited since ftc wrote it",
                help=f"undo the edit, or {again} and with `--force` to give it up",
            )
        case "stale":
            return STALE.finding(
                message=f"`{name}` is no longer a part of this bundle",
                help=f"{again}, which removes it",
            )
        case "outdated":
            return OUTDATED.finding(
                message=f"the spec now compiles to another `{name}`", help=again
            )
        case "other_ftc":
            before = old.ftc if old else "another version"
            return OTHER_FTC.finding(
                message=f"`{name}` was compiled by ftc {before}, and ftc {new.ftc} "
                "writes it differently",
                help=f"check with ftc {before}, or {again}",
            )


def _diff(path: Path, name: str, text: str | None) -> str:
    """Return the diff, or a word in its place where the file is huge or not text."""
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
