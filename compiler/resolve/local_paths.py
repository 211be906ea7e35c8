"""Local paths: told apart from ids of the Hub, and written relative to the spec."""

import os
import re
from pathlib import Path, PurePath
from typing import Final

_PATH_LIKE: Final = re.compile(r"\.{0,2}[/\\]|~|\.{1,2}$|[A-Za-z]:[/\\]")
#: The Hub allows 96 characters; what is longer can only be a path.
_HUB_ID: Final = re.compile(r"(?=.{1,96}$)[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


def is_path(text: str, *, folder: Path) -> bool:
    """Tell whether a text is a path on this disk: by its form, or because it exists."""
    if _PATH_LIKE.match(text) or not _HUB_ID.fullmatch(text):
        return True
    place = folder / text
    return is_file(place) or is_folder(place)


def at(text: str, *, folder: Path) -> Path:
    """Return the path that a path in the spec stands for."""
    try:
        return folder / Path(text).expanduser()
    except RuntimeError:  # a user that this machine does not have
        return folder / text


def is_file(place: Path) -> bool:
    """Tell whether it is a file; False for a name that no disk can have."""
    try:
        return place.is_file()
    except OSError:
        return False


def is_folder(place: Path) -> bool:
    """Tell whether it is a folder; False for a name that no disk can have."""
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
