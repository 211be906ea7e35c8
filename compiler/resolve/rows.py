"""Rows: reads csv, jsonl, json and parquet files one row at a time."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.table_file import TableFile

Row = Mapping[str, Any]

#: Keys under which a JSON file may keep its list of rows.
WRAPPERS: Final = ("data", "train", "rows", "examples")
#: Rows of a jsonl or json file whose keys are looked at to name its columns.
_HEADER_ROWS: Final = 1000
_FIELD_CHARS: Final = 64 * 1024 * 1024
#: Put behind the last line of a csv file: an open quotation mark swallows it.
_END: Final = "\x04"


class UnreadableError(Exception):
    """The file is not what its format says; the text says where."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The columns in the file's order, and the rows; None stands for a row that is broken."""

    columns: tuple[str, ...]
    rows: Iterator[Row | None]


def read_table(file: TableFile) -> Table:
    """Open the file's rows; raises UnreadableError, ImportError for parquet without pyarrow."""
    if file.format == "csv":
        return _read_csv(file)
    if file.format == "jsonl":
        return _named_by_keys(_jsonl(file))
    if file.format == "json":
        return _named_by_keys(_json(file))
    return _read_parquet(file.path)


def _open(file: TableFile) -> io.TextIOWrapper:
    return file.path.open(encoding=file.encoding, errors="replace", newline="")


def _read_csv(file: TableFile) -> Table:
    """Read a header line and rows; more cells than the header has make a row broken."""
    csv.field_size_limit(_FIELD_CHARS)
    lines = _csv_lines(file)
    header = next(lines, None)
    if header is None:
        return Table(columns=(), rows=iter(()))
    columns = tuple(header)
    width = len(columns)

    def rows() -> Iterator[Row | None]:
        for cells in lines:
            if cells:
                yield dict(zip(columns, cells, strict=False)) if len(cells) <= width else None

    return Table(columns=columns, rows=rows())


def _csv_lines(file: TableFile) -> Iterator[list[str]]:
    """Yield the cells of each line; a quotation mark that is never closed is no readable csv."""
    with _open(file) as stream:
        reader = csv.reader(chain(stream, [_END]), delimiter=file.delimiter or ",")
        last, begins, ends = [_END], 1, 0
        try:
            for cells in reader:
                if ends:
                    yield last
                last, begins, ends = cells, ends + 1, reader.line_num
        except csv.Error as error:
            raise UnreadableError(f"line {reader.line_num}: {error}") from error
        if last != [_END]:
            raise UnreadableError(f"line {begins}: a quotation mark is never closed")


def _jsonl(file: TableFile) -> Iterator[Row | None]:
    with _open(file) as stream:
        for line in stream:
            if line.strip():
                yield _object(line)


def _object(line: str) -> Row | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _json(file: TableFile) -> Iterator[Row | None]:
    with _open(file) as stream:
        text = stream.read()
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise UnreadableError(f"line {error.lineno}: {error.msg.lower()}") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError("it is nested too deeply, or holds a number too long") from error
    if isinstance(value, dict):
        value = next((value[key] for key in WRAPPERS if isinstance(value.get(key), list)), value)
    if not isinstance(value, list):
        raise UnreadableError("it holds no list of rows")
    return (row if isinstance(row, dict) else None for row in value)


def _named_by_keys(rows: Iterable[Row | None]) -> Table:
    """Name the columns by the keys of the first rows, in the order of their first use."""
    source = iter(rows)
    first = list(islice(source, _HEADER_ROWS))
    columns = dict.fromkeys(str(key) for row in first if row is not None for key in row)

    def every() -> Iterator[Row | None]:
        yield from first
        yield from source

    return Table(columns=tuple(columns), rows=every())


def _sentence(error: Exception) -> str:
    """Return the first sentence of a library's message, as a part of one of ours."""
    said = str(error).strip() or type(error).__name__
    text = said.splitlines()[0].partition(". ")[0].rstrip(".")
    return text[:1].lower() + text[1:]


def _read_parquet(path: Path) -> Table:
    from pyarrow import ArrowException  # noqa: PLC0415 - an extra, and slow to import
    from pyarrow import parquet as reader  # noqa: PLC0415

    try:
        file = reader.ParquetFile(path)
        columns = tuple(file.schema_arrow.names)
    except (ArrowException, OSError, UnicodeDecodeError) as error:  # a name in no encoding
        raise UnreadableError(_sentence(error)) from error

    def rows() -> Iterator[Row | None]:
        try:
            for batch in file.iter_batches():
                yield from batch.to_pylist()
        except (ArrowException, OSError, ValueError, OverflowError) as error:  # of a later page
            raise UnreadableError(_sentence(error)) from error

    return Table(columns=columns, rows=rows())
