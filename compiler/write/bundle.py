"""The bundle on disk: staged beside its place, then replaced file by file, the lock last.

Before the first replacement a record names every hash that ftc may have left in the folder. It is
removed after the last one. A write that was killed in between thus leaves files that the next
compile recognises as ftc's own, and replaces.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.write.conflict import Conflict, find_conflict
from ftc.compiler.write.disk import DiskFailure, exclusive_access, explained, state, title
from ftc.compiler.write.lock import (
    LOCK_NAME,
    Lock,
    LockFailure,
    dump_lock,
    hash_text,
    is_inside,
    read_lock,
)
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.message import Message, reason_of

RECORD_NAME = ".ftc-unfinished.json"
STAGING_NAME = ".ftc-staging"

_UNTOUCHED = Message("failure.kept.untouched")
_UNFINISHED = Message("failure.kept.unfinished")


class UnfinishedWrite(EnvironmentFailure):
    """An earlier write was interrupted while it replaced files; nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The names of a bundle's files by what became of them, each in alphabetical order."""

    created: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """One file to write or, where `file` is None, to remove; `owned` as in `find_conflict`."""

    name: str
    file: RenderedFile | None
    before: str | None
    owned: frozenset[str]


def write_bundle(
    folder: Path,
    files: Sequence[RenderedFile],
    lock: Lock,
    *,
    force: bool,
    source: str | None = None,
) -> Written:
    """Write the files and their lock; a file whose bytes are right already is left alone.

    `source` names the file of the bundle that was compiled, if one was: its edits are in the files.
    Raises Conflict when files that are not ftc's to replace are in the way (`force` replaces those
    that can be), BundleInUse when another compile is writing, LockFailure when the old lock is
    damaged and `force` is off, DiskFailure when the disk fails. After each of them, and after an
    interruption before the first replacement, the old bundle is whole.
    """
    wanted = (*files, RenderedFile(name=LOCK_NAME, text=dump_lock(lock), language="json"))
    _require_names([file.name for file in wanted])
    created = _make_folder(folder)
    try:
        with explained(folder, kept=_UNTOUCHED), exclusive_access(folder):
            left = _read_left(folder, force=force)
            changes = _plan_changes(folder, wanted, left, source)
            _require_no_conflict(folder, changes, force=force)
            if changes:
                _stage(folder, changes, wanted, left)
            with explained(folder, kept=_UNFINISHED):
                try:
                    _move(folder, changes)
                except KeyboardInterrupt:  # takes effect after the last file
                    _move(folder, changes)
                    raise
    finally:
        if created:
            with contextlib.suppress(OSError):
                folder.rmdir()
    changed = {change.name for change in changes}
    return Written(
        created=_names(change for change in changes if change.before is None),
        replaced=_names(change for change in changes if change.before and change.file),
        unchanged=tuple(sorted(file.name for file in wanted if file.name not in changed)),
        removed=_names(change for change in changes if change.file is None),
    )


def require_finished(folder: Path) -> None:
    """Raise UnfinishedWrite when a write to `folder` was interrupted while it replaced files."""
    if state(folder / RECORD_NAME) is not None:
        raise UnfinishedWrite(
            message=Message("failure.interrupted.message"),
            help=Message("failure.interrupted.help"),
        )


def _require_names(names: Sequence[str]) -> None:
    """Refuse names that no template may have: these are defects of ftc, not of a spec."""
    if len(set(names)) != len(names):
        raise ValueError(f"two files of one name: {sorted(names)}")
    for name in names:
        if not is_inside(name) or name.startswith(("run/", ".ftc-")):
            raise ValueError(f"not a name for a file of a bundle: {name!r}")


def _make_folder(folder: Path) -> bool:
    """Create the bundle's folder; say whether it was not there before."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        if folder.is_dir():
            return False
        raise DiskFailure(
            message=Message("failure.bundle_is_file.message", {"folder": title(folder)}),
            help=Message("failure.bundle_is_file.help"),
        ) from None
    except OSError as error:
        values = {"folder": title(folder), "reason": reason_of(error)}
        raise DiskFailure(
            message=Message("failure.no_folder.message", values),
            help=Message("failure.no_folder.help"),
        ) from error
    return True


def _read_left(folder: Path, *, force: bool) -> dict[str, frozenset[str]]:
    """Return the hashes of what ftc left under each name: the lock's, and an unfinished write's.

    A record that is damaged counts as none.
    """
    left: dict[str, frozenset[str]] = {}
    record = folder / RECORD_NAME
    with contextlib.suppress(OSError, ValueError, RecursionError):  # msgspec's are ValueErrors
        if not record.is_symlink():
            found = msgspec.json.decode(record.read_bytes(), type=dict[str, frozenset[str]])
            left = {name: hashes for name, hashes in found.items() if is_inside(name)}
    try:
        old = read_lock(folder)
    except LockFailure:
        if not force:
            raise
        old = None
    for name, digest in (old.files if old else {}).items():
        left[name] = left.get(name, frozenset()) | {digest}
    return left


def _plan_changes(
    folder: Path,
    wanted: Sequence[RenderedFile],
    left: Mapping[str, frozenset[str]],
    source: str | None,
) -> tuple[_Change, ...]:
    """Return what differs from the disk, the lock last."""
    # The lock is always ftc's, and the edits of the spec that was compiled are in the files.
    free = {LOCK_NAME, source} if left or state(folder / LOCK_NAME) else set()
    changes = [
        _Change(name=name, file=None, before=before, owned=left[name])
        for name in sorted(set(left) - {file.name for file in wanted})
        if (before := state(folder / name)) is not None
    ]
    for file in wanted:
        path = folder / file.name
        before, after = state(path), hash_text(file.text)
        executable = os.name == "nt" or not file.executable or os.access(path, os.X_OK)
        if before == after and executable:
            continue
        owned = left.get(file.name, frozenset())
        # A file with the right bytes and the wrong mode was not edited.
        if before is not None and (before == after or file.name in free):
            owned |= {before}
        changes.append(_Change(name=file.name, file=file, before=before, owned=owned))
    return tuple(changes)


def _require_no_conflict(folder: Path, changes: Sequence[_Change], *, force: bool) -> None:
    found = (
        find_conflict(folder, each.name, owned=each.owned, removes=each.file is None, force=force)
        for each in changes
    )
    if findings := tuple(finding for finding in found if finding is not None):
        raise Conflict(findings)


def _stage(
    folder: Path,
    changes: Sequence[_Change],
    wanted: Sequence[RenderedFile],
    left: Mapping[str, frozenset[str]],
) -> None:
    """Write the record and every new file to the staging folder, or remove that folder again."""
    new = {file.name: left.get(file.name, frozenset()) | {hash_text(file.text)} for file in wanted}
    record = msgspec.json.encode({**left, **new}, order="deterministic")
    _discard_staging(folder)
    staging = folder / STAGING_NAME
    try:
        staging.mkdir()
        _write_synced(staging / "record", record)
        for index, change in enumerate(changes):
            if change.file is not None:
                path = staging / f"{index}"
                _write_synced(path, change.file.text.encode())
                if change.file.executable:
                    path.chmod(path.stat().st_mode | 0o111)
    except BaseException:
        _discard_staging(folder)
        raise


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _move(folder: Path, changes: Sequence[_Change]) -> None:
    """Make the changes that are left, in order. May be called again after an interruption."""
    staging = folder / STAGING_NAME
    if (staging / "record").exists():
        os.replace(staging / "record", folder / RECORD_NAME)  # noqa: PTH105 - see below
    for index, change in enumerate(changes):
        target, staged = folder / change.name, staging / f"{index}"
        if change.file is None:
            target.unlink(missing_ok=True)
            _prune(folder, target.parent)
        elif staged.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(staged, target)  # noqa: PTH105 - the call that tests interrupt
    (folder / RECORD_NAME).unlink(missing_ok=True)
    _discard_staging(folder)


def _prune(folder: Path, parent: Path) -> None:
    """Remove the folders that a removed file leaves empty, up to the bundle's own."""
    with contextlib.suppress(OSError):
        while parent != folder:
            parent.rmdir()
            parent = parent.parent


def _discard_staging(folder: Path) -> None:
    """Remove the staging folder, or a file or link of its name."""
    staging = folder / STAGING_NAME
    if staging.is_dir() and not staging.is_symlink():
        shutil.rmtree(staging)
    else:
        staging.unlink(missing_ok=True)


def _names(changes: Iterable[_Change]) -> tuple[str, ...]:
    return tuple(sorted(change.name for change in changes))
