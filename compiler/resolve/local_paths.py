"""Local paths: distinguished from Hub ids, relative to the spec, and git-lfs pointers."""

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

_PATH_LIKE: Final = re.compile(r"\.{0,2}[/\\]|~|\.{1,2}$|[A-Za-z]:[/\\]")
#: The Hub allows 96 characters; what is longer can only be a path.
_HUB_ID: Final = re.compile(r"(?=.{1,96}$)[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_LONGEST_BYTES: Final = 1024  # the specification's limit
_START: Final = b"version https://git-lfs.github.com/spec/"
_SIZE: Final = re.compile(rb"^size (\d{1,18})$", re.MULTILINE)
_VARIABLE: Final = re.compile(r"\$\w+|\$\{\w+\}|%\w+%")


@dataclass(frozen=True, slots=True, kw_only=True)
class LfsPointer:
    """A file that is a pointer: its own bytes, and those of the file that it stands for."""

    name: str
    actual_bytes: int
    expected_bytes: int


def is_path(text: str, *, folder: Path) -> bool:
    """Return whether a text is a path on this disk: by its form, or because it exists."""
    if looks_like_path(text) or not _HUB_ID.fullmatch(text):
        return True
    place = folder / text
    return is_file(place) or is_folder(place)


def looks_like_path(text: str) -> bool:
    """Return whether a text can only mean a path: it starts as paths do."""
    return _PATH_LIKE.match(text) is not None


def has_variable(name: str) -> bool:
    """Return whether a name holds a variable of a shell, which nothing replaces."""
    return _VARIABLE.search(name) is not None


def at(text: str, *, folder: Path) -> Path:
    """Return the absolute path for a path in the spec."""
    try:
        return folder / Path(text).expanduser()
    except RuntimeError:  # a user that this machine does not have
        return folder / text


def is_file(place: Path) -> bool:
    """Return whether it is a file; False for a name that no disk can have."""
    try:
        return place.is_file()
    except OSError:
        return False


def is_folder(place: Path) -> bool:
    """Return whether it is a folder; False for a name that no disk can have."""
    try:
        return place.is_dir()
    except OSError:
        return False


def relative(place: Path, *, folder: Path) -> str:
    """Return the path relative to the spec's folder in POSIX form.

    It is the name alone where no relative path exists (another drive on Windows).
    """
    try:
        return PurePath(os.path.relpath(place, folder)).as_posix()
    except ValueError:
        return place.name


def read_pointer(path: Path) -> LfsPointer | None:
    """Return the content of a git-lfs pointer; None if the file is not a pointer or is missing."""
    if not path.is_file() or path.stat().st_size >= _LONGEST_BYTES:
        return None
    text = path.read_bytes()
    size = _SIZE.search(text)
    if not text.startswith(_START) or size is None:
        return None
    return LfsPointer(name=path.name, actual_bytes=len(text), expected_bytes=int(size[1]))
