"""Places: tells a folder or file beside the spec from an id of the Hub, and names it relatively."""

import os
import re
from pathlib import Path, PurePath
from typing import Final

_PATH_LIKE: Final = re.compile(r"\.{0,2}[/\\]|~|\.{1,2}$|[A-Za-z]:[/\\]")
#: The Hub allows 96 characters; what is longer can only be a path.
_HUB_ID: Final = re.compile(r"(?=.{1,96}$)[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


def is_path(text: str, *, folder: Path) -> bool:
    """Tell whether the words name a place on this disk: by their form, or since it exists."""
    if _PATH_LIKE.match(text) or not _HUB_ID.fullmatch(text):
        return True
    place = folder / text
    return is_file(place) or is_folder(place)


def at(text: str, *, folder: Path) -> Path:
    """Return the place that a path of the spec means."""
    try:
        return folder / Path(text).expanduser()
    except RuntimeError:  # a user that this machine does not have
        return folder / text


def is_file(place: Path) -> bool:
    """Tell whether a file is there; a name that no disk can hold is not."""
    try:
        return place.is_file()
    except OSError:
        return False


def is_folder(place: Path) -> bool:
    """Tell whether a folder is there; a name that no disk can hold is not."""
    try:
        return place.is_dir()
    except OSError:
        return False


def relative(place: Path, *, folder: Path) -> str:
    """Return the place relative to the spec's folder in POSIX form.

    Its bare name where no relative path exists (another drive on Windows).
    """
    try:
        return PurePath(os.path.relpath(place, folder)).as_posix()
    except ValueError:
        return place.name
