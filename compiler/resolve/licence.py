"""Reads a model's licence from its README's front matter, or the start of its LICENSE."""

import re
from pathlib import Path
from typing import Final

_MOST_BYTES: Final = 64 * 1024
_LONGEST: Final = 80
_FRONT: Final = re.compile(r"\A\ufeff?---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_KEY: Final = re.compile(r"^(license|license_name):[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_FILES: Final = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE")


def read_licence(folder: Path) -> str | None:
    """Return the licence that a model's folder names; None if no file names one."""
    front = _FRONT.match(_beginning(folder / "README.md"))
    said = dict(_KEY.findall(front[1])) if front is not None else {}
    named = name_licence(said.get("license"), said.get("license_name"))
    if named is not None:
        return named
    texts = (_beginning(folder / name) for name in _FILES)
    lines = (line.strip(" #*\t") for text in texts for line in text.splitlines())
    return next((line[:_LONGEST] for line in lines if line), None)


def name_licence(licence: object, name: object) -> str | None:
    """Return a licence by its identifier, or for `other` the name given beside it."""
    if licence == "other" and isinstance(name, str) and name:
        return name
    return licence if isinstance(licence, str) and licence else None


def _beginning(path: Path) -> str:
    """Return the first part of a text file; empty if there is none."""
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as stream:
            return stream.read(_MOST_BYTES).decode("utf-8", errors="replace").replace("\r\n", "\n")
    except OSError:
        return ""
