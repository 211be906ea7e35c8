"""The journal: the replacements of one write, so that an interrupted one is finished or undone."""

import contextlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from ftc.compiler.write.conflict import find_conflict, hold
from ftc.compiler.write.disk import FOLDER, LINK, state, sync_file, sync_folder, write_new
from ftc.compiler.write.lock import is_inside
from ftc.spec.finding import EnvironmentFailure

JOURNAL_NAME = ".ftc-journal.json"
STAGING_NAME = ".ftc-staging"

_STATE = re.compile(rf"[0-9a-f]{{64}}|{LINK}|{FOLDER}")


class JournalFailure(EnvironmentFailure):
    """The journal on disk cannot be followed, or has not been; nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file to replace or, where `after` is None, to remove; both are states (`disk.state`)."""

    name: str
    before: str | None
    after: str | None


def staged_path(folder: Path, index: int) -> Path:
    """Return where the new bytes of the change with this number wait."""
    return folder / STAGING_NAME / f"{index:04}"


def write_journal(folder: Path, changes: Sequence[Change]) -> None:
    """Make the journal complete in one step: from here on the write can only go forward."""
    text = json.dumps([asdict(change) for change in changes], indent=2) + "\n"
    part = folder / STAGING_NAME / "journal"
    write_new(part, text.encode("ascii"))
    sync_file(part)
    sync_folder(folder / STAGING_NAME)
    part.replace(folder / JOURNAL_NAME)
    sync_folder(folder)


def replay(folder: Path, changes: Sequence[Change]) -> None:
    """Do what is left of the changes, in order, and then drop the journal.

    May be called again after an interruption at any point.
    """
    for index, change in enumerate(changes):
        target = folder / change.name
        if change.after is None:
            target.unlink(missing_ok=True)
            _prune(folder, target.parent)
        elif (staged := staged_path(folder, index)).exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(staged, target)  # noqa: PTH105 - the call the tests interrupt
    for parent in {(folder / change.name).parent for change in changes}:
        if parent.is_dir():
            sync_folder(parent)
    (folder / JOURNAL_NAME).unlink(missing_ok=True)
    discard_staging(folder)


def recover(folder: Path, *, force: bool = False) -> bool:
    """Finish a write that was interrupted, or undo one that had not begun to replace.

    Says whether there was one to finish. Raises Conflict when a file that was still to be replaced
    has been edited since, JournalFailure when the journal makes no sense, OSError from the disk.
    """
    journal = folder / JOURNAL_NAME
    if state(journal) is None:
        discard_staging(folder)
        return False
    changes = _read_journal(journal)
    _hold_complete(folder, changes)
    hold(
        find_conflict(folder, change.name, owned=change.before, force=force)
        for change in changes
        if state(folder / change.name) != change.after
    )
    replay(folder, changes)
    return True


def hold_finished(folder: Path) -> None:
    """Raise JournalFailure when a write to `folder` was interrupted and waits to be finished."""
    if state(folder / JOURNAL_NAME) is not None:
        raise JournalFailure(
            message="an earlier compile was interrupted while it replaced files",
            help="run `ftc compile` without `--check`, which finishes it",
        )


def discard_staging(folder: Path) -> None:
    """Remove the staging folder, or whatever else has its name."""
    staging = folder / STAGING_NAME
    match state(staging):
        case None:
            return
        case "folder":
            shutil.rmtree(staging)
        case _:
            staging.unlink()


def _read_journal(path: Path) -> tuple[Change, ...]:
    if path.is_symlink():
        raise _damaged()
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        changes = msgspec.convert(data, tuple[Change, ...])
    except (ValueError, RecursionError) as error:  # msgspec's and UTF-8's errors are ValueErrors
        raise _damaged() from error
    if not all(is_inside(change.name) and _is_sane(change) for change in changes):
        raise _damaged()
    return changes


def _is_sane(change: Change) -> bool:
    states: Mapping[str, str | None] = {"before": change.before, "after": change.after}
    return all(value is None or _STATE.fullmatch(value) for value in states.values())


def _hold_complete(folder: Path, changes: Sequence[Change]) -> None:
    """Refuse to go on unless each new file is staged whole or already in its place."""
    if (folder / STAGING_NAME).is_symlink():
        raise _damaged()
    for index, change in enumerate(changes):
        staged = state(staged_path(folder, index))
        arrived = staged is None and state(folder / change.name) == change.after
        if change.after is not None and staged != change.after and not arrived:
            raise _damaged()


def _prune(folder: Path, parent: Path) -> None:
    """Remove the folders that a removed file leaves empty, up to the bundle's own."""
    with contextlib.suppress(OSError):
        while parent != folder:
            parent.rmdir()
            parent = parent.parent


def _damaged() -> JournalFailure:
    return JournalFailure(
        message=f"an earlier compile was interrupted, and its `{JOURNAL_NAME}` cannot be followed",
        help=f"delete `{JOURNAL_NAME}` and `{STAGING_NAME}`, then compile again with `--force`",
    )
