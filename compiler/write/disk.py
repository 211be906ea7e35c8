"""The bundle's folder: its contents, a lock for one writer, and errors of the disk."""

import contextlib
import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.message import Message, reason_of

LINK = "link"
FOLDER = "folder"

_HELP = {
    errno.ENOSPC: "failure.disk.help.full",
    errno.EDQUOT: "failure.disk.help.quota",
    errno.EFBIG: "failure.disk.help.file_size",
    errno.EROFS: "failure.disk.help.read_only",
    errno.EACCES: "failure.disk.help.forbidden",
    errno.EPERM: "failure.disk.help.forbidden",
}
_BUSY = frozenset({errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK})


class DiskFailure(EnvironmentFailure):
    """The disk failed: it is full, read-only or forbidden."""


class BundleInUse(EnvironmentFailure):
    """Another compile is writing to the folder."""


@contextlib.contextmanager
def explained(folder: Path, *, kept: Message) -> Iterator[None]:
    """Turn an OSError into a DiskFailure; `kept` says in which state the bundle is now."""
    try:
        yield
    except OSError as error:
        values = {"folder": title(folder), "reason": reason_of(error), "kept": kept}
        raise DiskFailure(
            message=Message("failure.disk.message", values),
            help=Message(_HELP.get(error.errno or 0, "failure.disk.help")),
        ) from error


@contextlib.contextmanager
def exclusive_access(folder: Path) -> Iterator[None]:
    """Lock the folder for the length of the block; raises BundleInUse when it is locked already.

    The system releases the lock when the process ends, even when it is killed. On a file system
    without locks the block runs without one.
    """
    if sys.platform == "win32":
        descriptor = os.open(folder / ".ftc-claim", os.O_RDWR | os.O_CREAT)
    else:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not _lock(descriptor):
            raise BundleInUse(
                message=Message("failure.in_use.message", {"folder": title(folder)}),
                help=Message("failure.in_use.help"),
            )
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Return whether the lock was free; also True if the file system has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - exists on Windows alone

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - exists everywhere else

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _BUSY
    return True


def title(folder: Path) -> str:
    """Return the folder's own name, which a path such as `.` does not show."""
    return folder.name or folder.resolve().name


def typed(folder: Path) -> str:
    """Return the folder's path as a user would type it: relative if it is below the current one."""
    folder, here = folder.absolute(), Path.cwd()
    return (folder.relative_to(here) if folder.is_relative_to(here) else folder).as_posix()


def state(path: Path) -> str | None:
    """Return what lies at `path`: None, LINK, FOLDER, or the SHA-256 of a file's bytes."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(mode):
        return LINK
    if not stat.S_ISREG(mode):
        return FOLDER
    return hashlib.sha256(path.read_bytes()).hexdigest()
