"""The bundle on disk: staged beside, then replaced file by file under a journal, the lock last."""

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ftc.compiler.render.file import RenderedFile
from ftc.compiler.write.claim import claim
from ftc.compiler.write.conflict import find_conflict, hold
from ftc.compiler.write.disk import DiskFailure, explained, state, sync_file, title, write_new
from ftc.compiler.write.journal import (
    JOURNAL_NAME,
    STAGING_NAME,
    Change,
    recover,
    replay,
    staged_path,
    write_journal,
)
from ftc.compiler.write.lock import (
    LOCK_NAME,
    Lock,
    LockFailure,
    dump_lock,
    hash_text,
    is_inside,
    read_lock,
)

_UNTOUCHED = "the bundle is as it was before"
_UNFINISHED = "some files are replaced, and the next `ftc compile` finishes the write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The names of a bundle's files by what became of them, each in alphabetical order."""

    created: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


def finish_interrupted(folder: Path, *, force: bool = False) -> bool:
    """Finish or undo what an interrupted compile left in `folder`; say whether it was finished.

    To be called before the lock is read. `force` gives up edits made since the interruption.
    Raises what `write_bundle` raises.
    """
    with explained(folder, kept=_UNTOUCHED):
        if not any((folder / name).exists() for name in (JOURNAL_NAME, STAGING_NAME)):
            return False
    with explained(folder, kept=_UNFINISHED), claim(folder):
        return recover(folder, force=force)


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
    that can be), ClaimFailure when another compile is writing, LockFailure when the old lock is
    damaged and `force` is off, DiskFailure when the disk refuses. After each of them, and after an
    interruption before the first replacement, the old bundle is whole.
    """
    wanted = (*files, RenderedFile(name=LOCK_NAME, text=dump_lock(lock), language="json"))
    _hold_names(wanted)
    created = _make_folder(folder)
    try:
        with explained(folder, kept=_UNTOUCHED), claim(folder):
            recover(folder, force=force)
            changes = _plan_changes(folder, wanted, _owned(folder, source, force=force))
            hold(
                find_conflict(folder, change.name, owned=owned, force=force)
                for change, owned in changes
            )
            needed = [change for change, _ in changes]
            if needed:
                _stage(folder, needed, {file.name: file for file in wanted})
                _replace(folder, needed)
    finally:
        if created:
            with contextlib.suppress(OSError):
                folder.rmdir()
    return _sum_up(needed, wanted)


def _hold_names(files: Sequence[RenderedFile]) -> None:
    """Refuse names that no template may have: these are defects of ftc, not of a spec."""
    names = [file.name for file in files]
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
            message=f"`{title(folder)}` is a file, and the bundle needs a folder of that name",
            help="move the file away, or compile into another folder with `-o`",
        ) from None
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise DiskFailure(
            message=f"could not create the folder `{title(folder)}`: {why}",
            help="compile into a folder that you may write, with `-o`",
        ) from error
    return True


def _owned(folder: Path, source: str | None, *, force: bool) -> Mapping[str, str]:
    """Return the files that ftc left here and their hashes, or what they are where that is free.

    Free are the lock, which is always ftc's, and the file that was compiled.
    """
    try:
        old = read_lock(folder)
    except LockFailure:
        if not force:
            raise
        old = None
    if old is None:
        return {}
    free = {name: state(folder / name) for name in (LOCK_NAME, source) if name is not None}
    return {**old.files, **{name: mine for name, mine in free.items() if mine}}


def _plan_changes(
    folder: Path, wanted: Sequence[RenderedFile], owned: Mapping[str, str]
) -> list[tuple[Change, str | None]]:
    """Return what differs from the disk, each with the state in which ftc left it, lock last."""
    names = {file.name for file in wanted}
    changes: list[tuple[Change, str | None]] = [
        (Change(name=name, before=before, after=None), owned[name])
        for name in sorted(set(owned) - names)
        if (before := state(folder / name)) is not None
    ]
    for file in wanted:
        before, after = state(folder / file.name), hash_text(file.text)
        if before != after or not _has_mode(folder / file.name, file):
            change = Change(name=file.name, before=before, after=after)
            # Right bytes without the right mode are nobody's edit.
            changes.append((change, after if before == after else owned.get(file.name)))
    return changes


def _has_mode(path: Path, file: RenderedFile) -> bool:
    return os.name == "nt" or not file.executable or os.access(path, os.X_OK)


def _stage(folder: Path, changes: Sequence[Change], files: Mapping[str, RenderedFile]) -> None:
    """Put every new byte on the disk, or take back all of them."""
    staged: list[Path] = []
    try:
        (folder / STAGING_NAME).mkdir()
        for index, change in enumerate(changes):
            if change.after is not None:
                file = files[change.name]
                content = file.text.encode()
                write_new(staged_path(folder, index), content, executable=file.executable)
                staged.append(staged_path(folder, index))
        # At once, not in turn: the disk then commits them together.
        with ThreadPoolExecutor(max_workers=8) as pool:
            list(pool.map(sync_file, staged))
        write_journal(folder, changes)
    except BaseException:
        recover(folder, force=True)
        raise


def _replace(folder: Path, changes: Sequence[Change]) -> None:
    """Carry out a complete journal; an interrupt is obeyed once the bundle is whole again."""
    with explained(folder, kept=_UNFINISHED):
        try:
            replay(folder, changes)
        except KeyboardInterrupt:
            replay(folder, changes)
            raise


def _sum_up(changes: Sequence[Change], wanted: Sequence[RenderedFile]) -> Written:
    changed = {change.name for change in changes}
    return Written(
        created=_names(change for change in changes if change.before is None),
        replaced=_names(change for change in changes if change.before and change.after),
        unchanged=tuple(sorted(file.name for file in wanted if file.name not in changed)),
        removed=_names(change for change in changes if change.after is None),
    )


def _names(changes: Iterable[Change]) -> tuple[str, ...]:
    return tuple(sorted(change.name for change in changes))
