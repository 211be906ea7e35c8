"""Pointers of git-lfs: the small text files that a clone has in place of large ones."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LONGEST_BYTES: Final = 1024  # the specification's limit
_START: Final = b"version https://git-lfs.github.com/spec/"
_SIZE: Final = re.compile(rb"^size (\d{1,18})$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LfsPointer:
    """A file that is a pointer: its own bytes, and those of the file that it stands for."""

    name: str
    actual_bytes: int
    expected_bytes: int


def read_pointer(path: Path) -> LfsPointer | None:
    """Return what a file points to; None where it is no pointer, or not there."""
    if not path.is_file() or path.stat().st_size >= _LONGEST_BYTES:
        return None
    text = path.read_bytes()
    size = _SIZE.search(text)
    if not text.startswith(_START) or size is None:
        return None
    return LfsPointer(name=path.name, actual_bytes=len(text), expected_bytes=int(size[1]))
