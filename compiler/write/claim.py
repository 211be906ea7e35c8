"""The claim: one compile at a time writes to a bundle."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ftc.compiler.write.disk import title
from ftc.spec.finding import EnvironmentFailure

_WINDOWS_NAME = ".ftc-claim"
_BUSY = frozenset({errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK})


class ClaimFailure(EnvironmentFailure):
    """Another compile holds the folder."""


@contextlib.contextmanager
def claim(folder: Path) -> Iterator[None]:
    """Hold the folder for the length of the block; raises ClaimFailure when it is held already.

    The system drops the claim when the process ends, however it ends. A file system without locks
    is used without one.
    """
    descriptor = _open(folder)
    try:
        if not _lock(descriptor):
            raise ClaimFailure(
                message=f"another `ftc compile` is writing to `{title(folder)}`",
                help="wait for it to end, then compile again",
            )
        yield
    finally:
        os.close(descriptor)


def _open(folder: Path) -> int:
    if sys.platform == "win32":
        return os.open(folder / _WINDOWS_NAME, os.O_RDWR | os.O_CREAT)
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)


def _lock(descriptor: int) -> bool:
    """Say whether the lock was free; also true where the file system has no locks."""
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
