"""The disk: what lies on it, how bytes get there, and one sentence when it refuses."""

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ftc.spec.finding import EnvironmentFailure

LINK = "link"
FOLDER = "folder"

_HELP = {
    errno.ENOSPC: "free some disk space, then compile again",
    errno.EDQUOT: "free some of your quota, then compile again",
    errno.EFBIG: "raise the file-size limit of this shell, then compile again",
    errno.EROFS: "compile into a folder on a disk that can be written, with `-o`",
    errno.EACCES: "compile into a folder that you may write, with `-o`",
    errno.EPERM: "compile into a folder that you may write, with `-o`",
}


class DiskFailure(EnvironmentFailure):
    """The disk refused: full, read-only, forbidden."""


@contextlib.contextmanager
def explained(folder: Path, *, kept: str) -> Iterator[None]:
    """Turn an OSError into one sentence; `kept` says what became of the bundle."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise DiskFailure(
            message=f"could not write to `{title(folder)}`: {why.lower()}; {kept}",
            help=_HELP.get(error.errno or 0, "look at the folder and its disk, then compile again"),
        ) from error


def title(folder: Path) -> str:
    """Return the folder's own name, which a path such as `.` does not show."""
    return folder.name or folder.resolve().name


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


def write_new(path: Path, content: bytes, *, executable: bool = False) -> None:
    """Create a file; its bytes are on the disk after `sync_file` alone. Raises OSError."""
    with path.open("xb") as file:
        file.write(content)
    if executable:
        path.chmod(path.stat().st_mode | 0o111)


def sync_file(path: Path) -> None:
    """Return once the file's bytes are on the disk; raises OSError."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Return once renames in `folder` are on the disk, where the system can say so."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # Some network and FUSE file systems cannot sync a folder; the rename stands all the same.
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
