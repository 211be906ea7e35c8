"""Reads rows from csv, jsonl and json files. Standard library only.

The readers for prepare.py return chunks of rows, which processes work on; the compiler reads rows
with the functions that they are made of.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from .rows import DataError

#: Keys under which a JSON file may keep its list of rows.
WRAPPERS: Final = ("data", "train", "rows", "examples")
CHUNK_ROWS: Final = 256  # that one process works on at a time
_FIELD_CHARS: Final = 2**31 - 1
#: Added after the last line of a csv file: it becomes part of a quotation that is never closed.
_END: Final = "\x04"


def read_csv(paths: Sequence[Path], *, encoding: str, delimiter: str) -> Iterator[list[Any]]:
    """Yield the rows of tables in chunks; None stands for a broken row."""
    for path in paths:
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            try:
                yield from cut(parse_csv(file, delimiter)[1])
            except DataError as error:
                raise DataError(f"{path} cannot be read: {error}") from error


def read_jsonl(paths: Sequence[Path], *, encoding: str) -> Iterator[list[str]]:
    """Yield the lines of files in chunks, unparsed; blank lines are left out."""
    for path in paths:
        with path.open(encoding=encoding, errors="replace") as file:
            yield from cut(filter(str.strip, file))


def read_json(paths: Sequence[Path], *, encoding: str) -> Iterator[list[Any]]:
    """Yield the rows of JSON lists in chunks."""
    for path in paths:
        try:
            yield from cut(parse_json(path.read_text(encoding=encoding, errors="replace")))
        except DataError as error:
            raise DataError(f"{path} cannot be read: {error}") from error


def cut(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield rows in lists of CHUNK_ROWS."""
    rows = iter(rows)
    return iter(lambda: list(islice(rows, CHUNK_ROWS)), [])


def parse_lines(chunk: Iterable[str]) -> Iterator[Any]:
    """Return the values of lines of JSON, None for a broken one."""
    return map(parse_line, chunk)


def parse_line(line: str) -> Any:
    """Return the value of a line of JSON, or None if it is broken."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def parse_csv(
    lines: Iterable[str], delimiter: str
) -> tuple[list[str], Iterator[dict[str, str] | None]]:
    """Return the header of a table and its rows; one with more cells than the header is None."""
    csv.field_size_limit(_FIELD_CHARS)
    cells = _split_cells(lines, delimiter)
    header = next(cells, [])
    width = len(header)
    rows = (
        dict(zip(header, row, strict=False)) if len(row) <= width else None for row in cells if row
    )
    return header, rows


def _split_cells(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the cells of each row; raises DataError for a quotation mark that is never closed."""
    reader = csv.reader(chain(lines, [_END]), delimiter=delimiter)
    last, begins, ends = [_END], 1, 0
    try:
        for cells in reader:
            if ends:
                yield last
            last, begins, ends = cells, ends + 1, reader.line_num
    except csv.Error as error:
        line, why = reader.line_num, str(error)
        raise DataError(f"line {line}: {why}", key="line", line=line, reason=why) from error
    if last != [_END]:
        text = f"line {begins}: a quotation mark is never closed"
        raise DataError(text, key="quotation", line=begins)


def parse_json(text: str) -> list[Any]:
    """Return the list of rows that a text of JSON holds; raises DataError without one."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        line, why = error.lineno, error.msg.lower()
        raise DataError(f"line {line}: {why}", key="line", line=line, reason=why) from error
    except (ValueError, RecursionError) as error:
        text = "it is nested too deeply, or holds a number too long"
        raise DataError(text, key="nesting") from error
    if isinstance(value, dict):
        value = next((value[key] for key in WRAPPERS if isinstance(value.get(key), list)), value)
    if not isinstance(value, list):
        raise DataError("it holds no list of rows", key="no_list")
    return value
