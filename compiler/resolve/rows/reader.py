"""Rows: reads csv, jsonl, json and parquet files one row at a time."""

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal
from zipfile import BadZipFile, ZipFile

from ftc.compiler.resolve.rows.table import TableFile
from ftc.runtime.read.csv_files import parse_csv
from ftc.runtime.read.json_files import MakeObject, parse_json, parse_line, unwrap
from ftc.runtime.read.rows import DataError
from ftc.spec.message import Message

Row = Mapping[str, Any]
#: Rows of a jsonl or json file whose keys are looked at to name its columns.
_HEADER_ROWS: Final = 1000
FileKind = Literal[
    "gzip", "bzip2", "xz", "zstd", "zip", "xlsx", "xls", "PDF", "SQLite", "parquet", "html", "xml",
    "Arrow", "pickle", "NumPy", "HDF5", "docx", "pptx",
]  # fmt: skip
#: Compressed files, which hold the rows once they are unpacked.
PACKED: Final = frozenset({"gzip", "bzip2", "xz", "zstd", "zip"})
_OFFICE: Final[Mapping[str, FileKind]] = {"xl": "xlsx", "word": "docx", "ppt": "pptx"}
_SIGNATURES: Final[Mapping[bytes, FileKind]] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"\xd0\xcf\x11\xe0": "xls",
    b"%PDF-": "PDF",
    b"SQLite format 3\0": "SQLite",
    b"PAR1": "parquet",
    b"ARROW1": "Arrow",
    b"FEA1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow",  # a stream, as data sets are cached
    b"\x80\x04\x95": "pickle",
    b"\x80\x05\x95": "pickle",
    b"\x93NUMPY": "NumPy",
    b"\x89HDF\r\n": "HDF5",
}
_LOOKED_AT: Final = 512
_BOM: Final = b"\xef\xbb\xbf"


class UnreadableError(Exception):
    """The file is not what its format says; `reason` says where."""

    def __init__(self, reason: Message | str) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The columns in the file's order, and the rows; None stands for a row that is broken."""

    columns: tuple[str, ...]
    rows: Iterator[Row | None]


def read_table(file: TableFile, repeated: Counter[str] | None = None) -> Table:
    """Open the file's rows; raises UnreadableError, ImportError for parquet without pyarrow.

    `repeated` counts the objects of JSON that have a key twice, by the key, as rows are read.
    """
    if file.format == "csv":
        return _read_csv(file)
    make = None if repeated is None else partial(_make_object, repeated)
    if file.format == "jsonl":
        return _named_by_keys(_jsonl(file, make))
    if file.format == "json":
        return _named_by_keys(_json(file, make))
    return _read_parquet(file.path)


def _make_object(repeated: Counter[str], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with the last value of each key, as Python reads JSON."""
    made = dict(pairs)
    if len(made) < len(pairs):
        repeated.update(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return made


def _open(file: TableFile) -> io.TextIOWrapper:
    return file.path.open(encoding=file.encoding, errors="replace", newline="")


def _read_csv(file: TableFile) -> Table:
    """Read a header line and rows; more cells than the header has make a row broken."""
    lines = _csv(file)
    return Table(columns=tuple(next(lines)), rows=lines)


def _csv(file: TableFile) -> Iterator[Any]:
    """Yield the header, then the rows."""
    with _open(file) as stream, _translate():
        columns, rows = parse_csv(stream, file.delimiter or ",")
        yield columns
        yield from rows


def _jsonl(file: TableFile, make: MakeObject | None) -> Iterator[Row | None]:
    with _open(file) as stream:
        for line in stream:
            if line.strip():
                yield _object(parse_line(line, make))


def _json(file: TableFile, make: MakeObject | None) -> Iterator[Row | None]:
    with _open(file) as stream, _translate():
        rows = parse_json(stream.read(), make)
    return map(_object, rows)


def list_left_out(files: Sequence[TableFile]) -> Mapping[str, int]:
    """Return the lists of objects in JSON files that are not read, each with its number of rows."""
    left: dict[str, int] = {}
    for file in (each for each in files if each.format == "json"):
        with _open(file) as stream:
            value = json.loads("{" + stream.read()) if stream.read(1) == "{" else {}
        read = unwrap(value)
        for key, rows in value.items():
            objects = isinstance(rows, list) and any(isinstance(row, dict) for row in rows)
            if objects and rows is not read:
                left[key] = left.get(key, 0) + len(rows)
    return left


def _object(value: Any) -> Row | None:
    return value if isinstance(value, dict) else None


@contextmanager
def _translate() -> Iterator[None]:
    """Raise the error of a file that cannot be read as the compiler's own."""
    try:
        yield
    except DataError as error:
        known = Message(f"reading.{error.key}", error.values) if error.key else None
        raise UnreadableError(known or str(error)) from error


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

    from ftc.runtime.read.parquet_files import list_rows  # noqa: PLC0415

    try:
        file = reader.ParquetFile(path)
        columns = tuple(file.schema_arrow.names)
    except (ArrowException, OSError, UnicodeDecodeError) as error:  # a name in no encoding
        raise UnreadableError(_sentence(error)) from error

    def rows() -> Iterator[Row | None]:
        try:
            for batch in file.iter_batches():
                yield from list_rows(batch)
        # of a later page, or a cell that Python has no value for
        except (ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
            raise UnreadableError(_sentence(error)) from error

    return Table(columns=columns, rows=rows())


def find_other_kind(path: Path) -> FileKind | None:
    """Return the kind of a file that is not a text table; None if its first bytes show none."""
    with path.open("rb") as stream:
        start = stream.read(_LOOKED_AT)
    for signature, kind in _SIGNATURES.items():
        if start.startswith(signature):
            return _find_office(path) or kind if kind == "zip" else kind
    text = start.removeprefix(_BOM).lstrip().lower()
    if text.startswith((b"<!doctype html", b"<html")):
        return "html"
    return "xml" if text.startswith(b"<?xml") else None


def _find_office(path: Path) -> FileKind | None:
    """Return the kind of an office document, which is a zip file with a folder of its own."""
    with suppress(BadZipFile, OSError), ZipFile(path) as archive:
        folders = {name.partition("/")[0] for name in archive.namelist() if "/" in name}
        return next((kind for folder, kind in _OFFICE.items() if folder in folders), None)
    return None
