"""Reads log files of JSON objects, one per line; the last line may be incomplete."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

#: An object is read as a whole; a larger file is not read.
_MOST_BYTES: Final = 64 * 2**20
_BLOCK_BYTES: Final = 2**20
#: About this many bytes of a longer log are parsed: a screen has far fewer columns than the log has
#: lines.
_PARSED_BYTES: Final = 4 * 2**20
#: A line that differs from its neighbours: a start, an evaluation, a warning, a null loss.
_TELLING: Final = re.compile(rb'"event"|"eval_|"warning"|"stopped_early"|null')
#: An incomplete line is still being written, unless it is longer than this.
_MOST_LINE_BYTES: Final = 2**16
#: More records than these are thinned.
MOST_RECORDS: Final = 40_000

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The position up to which a file was read: the inode of the file, and a byte offset."""

    inode: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The records added since a mark, and the mark to continue from.

    `afresh` means that another file has replaced the file, so that the earlier records are gone.
    """

    records: tuple[Record, ...] = ()
    mark: Mark = field(default_factory=Mark)
    afresh: bool = False
    damaged: int = 0


def read_records(path: Path, since: Mark) -> Reading:
    """Return the records appended to a file since a mark, without an incomplete last line.

    Of a long addition, a sample of the lines and every line with an event are parsed. A missing
    file has no records. Raises OSError if the file exists and cannot be read.
    """
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return Reading(afresh=since != Mark())
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            gone = status.st_ino != since.inode or status.st_size < since.offset
            start = 0 if gone else since.offset
            file.seek(start)
            lines = _Lines(file, start, status.st_size)
            records, damaged = _sample(lines, max(1, (status.st_size - start) // _PARSED_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return Reading(afresh=since != Mark())
    return Reading(
        records=tuple(records),
        mark=Mark(inode=status.st_ino, offset=lines.offset),
        afresh=gone,
        damaged=damaged + lines.overlong,
    )


class _Lines:
    """The complete lines of a file up to a byte; `offset` is the end of the last one."""

    def __init__(self, file: IO[bytes], start: int, end: int) -> None:
        self.offset = start
        self.overlong = 0
        self._file = file
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        """Yield lines without line endings; lines that are too long are only counted."""
        rest, at, skips = b"", self.offset, False
        while block := self._file.read(min(_BLOCK_BYTES, self._end - at)):
            at += len(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                if not skips:
                    yield line
                skips = False
            if len(rest) > _MOST_LINE_BYTES:
                self.overlong += not skips
                rest, skips = b"", True
            self.offset = at - len(rest)


def _sample(lines: Iterable[bytes], every: int) -> tuple[list[Record], int]:
    """Return the records of every n-th line and of all events, and the invalid lines."""
    records: list[Record] = []
    damaged = 0
    for number, line in enumerate(lines):
        if number % every and not _TELLING.search(line):
            continue
        record = _parse(line) if line.strip() else {}
        if record is None:
            damaged += 1
        elif record:
            records.append(record)
        if len(records) > 2 * MOST_RECORDS:
            records = thin(records)
    return thin(records), damaged


def thin(records: list[Record]) -> list[Record]:
    """Return at most MOST_RECORDS: the newer half as it is, and a selection of the older ones."""
    while len(records) > MOST_RECORDS:
        older, newer = records[: -MOST_RECORDS // 2], records[-MOST_RECORDS // 2 :]
        told = [record for record in older if is_telling(record)]
        if len(told) <= MOST_RECORDS // 4:
            kept = [each for at, each in enumerate(older) if at % 2 == 0 or is_telling(each)]
        else:
            kept = older[::2]
        records = [*kept, *newer]
    return records


def is_telling(record: Record) -> bool:
    """Return whether a record differs from its neighbours, as _TELLING decides for a line."""
    return any(
        value is None or name in _TELLING_NAMES or name.startswith("eval_")
        for name, value in record.items()
    )


_TELLING_NAMES: Final = frozenset({"event", "warning", "stopped_early"})


def read_object(path: Path) -> Record | None:
    """Return the JSON object in a file; None if there is no complete object."""
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
