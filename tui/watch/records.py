"""Files that scripts append to: JSON objects, one a line, of which the last may be half written."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

#: Of a log, at one reading: what a run of weeks writes is more than a screen needs.
_MOST_BYTES: Final = 64 * 2**20
#: What is not a whole line is a line that is being written, unless it is longer than any line.
_MOST_LINE_BYTES: Final = 2**16

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How far a file was read: which file it is (its number on the disk), and up to which byte."""

    inode: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The records that were added since a mark, and the mark to go on from.

    `afresh` says that they are the first of another file: what was read before is gone.
    """

    records: tuple[Record, ...] = ()
    mark: Mark = field(default_factory=Mark)
    afresh: bool = False
    damaged: int = 0


def read_records(path: Path, since: Mark) -> Reading:
    """Return what was appended to a file since; a half-written last line is left for later.

    A file that is not there has no records. Raises OSError where it is there and cannot be read.
    """
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return Reading(afresh=since != Mark())
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            gone = status.st_ino != since.inode or status.st_size < since.offset
            start = 0 if gone else since.offset
            file.seek(max(start, status.st_size - _MOST_BYTES))
            data = file.read(_MOST_BYTES)
            end = file.tell()
    except (FileNotFoundError, NotADirectoryError):
        return Reading(afresh=since != Mark())
    whole, newline, rest = data.rpartition(b"\n")
    if not newline and len(rest) < _MOST_LINE_BYTES:
        whole = b""
    parsed = [_parse(line) for line in whole.split(b"\n") if line.strip()]
    records = tuple(record for record in parsed if record is not None)
    return Reading(
        records=records,
        mark=Mark(inode=status.st_ino, offset=end - len(rest)),
        afresh=gone,
        damaged=len(parsed) - len(records),
    )


def read_object(path: Path) -> Record | None:
    """Return the JSON object that a file holds; None where there is none, or not a whole one."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return _parse(path.read_bytes())
    except OSError:
        return None


def _parse(text: bytes) -> Record | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
