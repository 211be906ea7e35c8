"""Reads JSON files, and writes files atomically. Standard library only."""

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any


def read_json(path: Path) -> Any:
    """Return the JSON value in a file."""
    return json.loads(path.read_text(encoding="utf-8"))


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; {} if the file is missing or has no object."""
    with suppress(OSError, ValueError):
        found = read_json(path)
        return found if isinstance(found, dict) else {}
    return {}


def read_rows(path: Path) -> Iterator[Any]:
    """Yield the JSON value of each line; U+2028 inside a text does not end a line."""
    with path.open(encoding="utf-8-sig") as file:
        yield from map(json.loads, filter(str.strip, file))


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file atomically."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    write_lines(path, [text.encode(), b"\n"])


def write_rows(path: Path, rows: Iterable[Any]) -> None:
    """Write one JSON value per line, atomically."""
    write_lines(path, (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows))


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write bytes atomically; the file and its name are on the disk afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_folder(old: Path, new: Path) -> None:
    """Replace the folder `old` by `new`; delete the old one once the new one is on the disk."""
    for path in (new, *new.rglob("*")):
        sync(path)
    aside = old.with_name(old.name + ".before")
    if old.exists():
        shutil.rmtree(aside, ignore_errors=True)
        old.rename(aside)
    new.rename(old)
    sync(old.parent)
    shutil.rmtree(aside, ignore_errors=True)
