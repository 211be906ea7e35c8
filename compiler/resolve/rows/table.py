"""The file of a table before its rows are read: format, bytes, encoding and delimiter."""

import codecs
import csv
import hashlib
import io
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ftc.runtime.read.csv_files import find_quoting
from ftc.spec.sections import FileFormat

#: What an extension says about the format.
FORMATS: Final[dict[str, FileFormat]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
}
_DELIMITERS: Final = ",;\t|"
_WESTERN: Final = ("cp1252", "latin-1")
_LOOKED_CHARS: Final = 1024 * 1024
_ACCENTED_SHARE: Final = 0.35  # of the letters; languages of Western Europe have far fewer
_CONTROL_SHARE: Final = 0.01
_JOINED_SHARE: Final = 0.6  # of the bytes beyond ASCII, beside another one
_WIDE_SHARE: Final = 0.6  # of the letters, in the first 256 characters of Unicode
_NARROW_SHARE: Final = 0.01
_FEWEST_HIGH: Final = 20
_HIGH_RUN: Final = re.compile(rb"[\x80-\xff]{2,}")
_HIGH_ALONE: Final = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_TEXT_SHARE: Final = 0.7
_CONTROL: Final = re.compile(r"[\x01-\x08\x0e-\x1a]")
_BLOCK_BYTES: Final = 1024 * 1024
_SNIFF_CHARS: Final = 64 * 1024
#: The line in which a spreadsheet says what separates the cells, above the names of the columns.
_SEPARATOR: Final = re.compile(r"\ufeff?sep=([,;\t|])", re.IGNORECASE)
_LOOKED_AT: Final = 256  # bytes
_SNIFF_LINES: Final = 50
_MOST_TITLES: Final = 10  # lines above the names of columns
_FEWEST_LINES: Final = 3  # of a table that no extension tells
_NAME: Final = re.compile(r"(?=.*[^\W\d_])[\w .#/()%-]{1,60}")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_BROKEN: Final = re.compile("[\udc80-\udcff]")  # what surrogateescape makes of a wrong byte


#: Bytes that are no text, text with a few NUL bytes, and text of an unknown encoding.
NoTable = Literal["binary", "nul", "foreign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """`encoding` is a codec of Python's, to be read with errors replaced; `delimiter` of a csv."""

    path: Path
    format: FileFormat
    size_bytes: int
    sha256: str
    encoding: str
    delimiter: str | None


def inspect_file(
    path: Path,
    format: FileFormat,  # noqa: A002 - the field's name
) -> TableFile | NoTable:
    """Read the file's bytes once, in blocks, or return why they are not a text table."""
    sha256, size, encoding = _scan_bytes(path)
    if format == "parquet":
        encoding = "binary"
    if encoding is None:
        return "nul" if _is_text_with_nul(path) else "binary"
    if encoding in _WESTERN and not _is_western(path, encoding):
        return "foreign"
    return TableFile(
        path=path,
        format=format,
        size_bytes=size,
        sha256=sha256,
        encoding=encoding,
        delimiter=_sniff_delimiter(path, encoding) if format == "csv" else None,
    )


def _scan_bytes(path: Path) -> tuple[str, int, str | None]:
    """Return the hash, the size and the encoding; no encoding if the bytes are not text."""
    digest, size, utf8 = hashlib.sha256(), 0, _Utf8Count()
    start, has_nul, undefined = b"", False, False
    wide = None
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            wide = wide if start else _find_wide(block)
            start = start or block[:4]
            digest.update(block)
            size += len(block)
            has_nul = has_nul or b"\0" in block
            undefined = undefined or any(byte in block for byte in b"\x81\x8d\x8f\x90\x9d")
            utf8.add(block)
    utf8.end()
    encoding: str | None
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encoding = "utf-32"
    elif start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif has_nul:
        encoding = wide
    elif start.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    elif utf8.broken <= utf8.sound:
        encoding = "utf-8"
    else:
        encoding = "latin-1" if undefined else "cp1252"
    return digest.hexdigest(), size, encoding


def _find_wide(block: bytes) -> str | None:
    """Return the encoding of UTF-16 without a mark: every other byte of most letters is NUL."""
    text = block[: len(block) // 2 * 2]
    first, second = text[::2].count(0), text[1::2].count(0)
    often, seldom = _WIDE_SHARE * len(text) / 2, _NARROW_SHARE * len(text) / 2
    if second > often and first < seldom:
        found = "utf-16-le"
    elif first > often and second < seldom:
        found = "utf-16-be"
    else:
        return None
    return None if _CONTROL.search(text.decode(found, errors="replace")) else found


def _is_western(path: Path, encoding: str) -> bool:
    """Return whether bytes that are not UTF-8 may be a text of Western Europe.

    In these languages few letters have an accent, and two in a row are rare; bytes of other scripts
    are all read as such, or as control characters, also where most of the text is English.
    """
    with path.open("rb") as stream:
        raw = stream.read(_LOOKED_CHARS)
    text = raw.decode(encoding, errors="replace")
    joined = sum(len(run) for run in _HIGH_RUN.findall(raw) if len(set(run)) > 1)
    high = sum(map(len, _HIGH_RUN.findall(raw))) + len(_HIGH_ALONE.findall(raw))
    if high >= _FEWEST_HIGH and joined > _JOINED_SHARE * high:
        return False
    letters = sum(map(str.isalpha, text))
    accented = sum(letter.isalpha() for letter in text if not letter.isascii())
    controls = sum(map(text.count, map(chr, range(0x80, 0xA0))))
    return accented <= _ACCENTED_SHARE * letters and controls <= _CONTROL_SHARE * len(text)


def _is_text_with_nul(path: Path) -> bool:
    """Return whether the bytes that are not NUL are most of them, and UTF-8 text."""
    with path.open("rb") as stream:
        start = stream.read(_SNIFF_CHARS)
    kept = start.replace(b"\0", b"")
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(kept)
    except UnicodeDecodeError:
        return False
    return len(kept) > _TEXT_SHARE * len(start) and not _CONTROL.search(text)


class _Utf8Count:
    """Counts the letters that are UTF-8 and the bytes that are not.

    A few wrong bytes among many right letters are damage in a UTF-8 file, the reverse is a file
    in another encoding.
    """

    def __init__(self) -> None:
        self.sound = self.broken = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def add(self, block: bytes, *, final: bool = False) -> None:
        """Count one block."""
        text = self._decoder.decode(block, final)
        if not text.isascii():
            broken = len(_BROKEN.findall(text))
            self.broken += broken
            self.sound += len(text) - len(text.encode("ascii", "ignore")) - broken

    def end(self) -> None:
        """Count what the last block left unfinished."""
        self.add(b"", final=True)


def join_digests(files: Sequence[TableFile]) -> str:
    """Return the file's hash, or a hash over the hashes of several."""
    if len(files) == 1:
        return files[0].sha256
    return hashlib.sha256("\n".join(file.sha256 for file in files).encode()).hexdigest()


def sniff_format(path: Path) -> FileFormat | None:
    """Return the format of a text file by its first lines, or None if they fit no format."""
    _, _, encoding = _scan_bytes(path)
    if encoding is None:
        return None
    with path.open(encoding=encoding, errors="replace", newline="") as stream:
        text = stream.read(_SNIFF_CHARS)
    first, others = _part_line(text.lstrip())
    with suppress(ValueError, RecursionError):
        value = json.loads(first) if others.strip() else None
        if value is not None:
            return "jsonl" if isinstance(value, dict) else None
    if re.match(r"\[\s*\{", text.lstrip()):
        return "json"
    delimiter = max(_DELIMITERS, key=lambda each: _fit(text, each))
    share, width = _fit(text, delimiter)
    is_table = share == 1.0 and width > 1 and len(_LINE_END.findall(text)) >= _FEWEST_LINES
    return "csv" if is_table and _has_names(text, delimiter) else None


def _has_names(text: str, delimiter: str) -> bool:
    """Tell whether the first line may hold names of columns: short, all different, no sentences."""
    first = _part_line(text.lstrip("\ufeff \r\n"))[0]
    names = [name.strip().strip("\"'") for name in first.split(delimiter)]
    return len(set(names)) == len(names) and all(map(_NAME.fullmatch, names))


def find_json(path: Path) -> FileFormat | None:
    """Return the format of a file of JSON, None for any other file."""
    with path.open("rb") as stream:
        start = stream.read(_LOOKED_AT).removeprefix(codecs.BOM_UTF8).lstrip()
    shown = sniff_format(path) if start.startswith((b"[", b"{")) else None
    return shown if shown in ("json", "jsonl") else None


def _part_line(text: str) -> tuple[str, str]:
    """Return the first line of a text without its line end, and the rest."""
    first, *others = _LINE_END.split(text, maxsplit=1)
    return first, others[0] if others else ""


def _sniff_delimiter(path: Path, encoding: str) -> str:
    """Return the delimiter that gives the first rows the same number of cells, and the most."""
    with path.open(encoding=encoding, errors="replace", newline="") as stream:
        text = stream.read(_SNIFF_CHARS)
    if said := _SEPARATOR.match(text):
        return said[1]
    text = find_below_title(text) or text
    return max(_DELIMITERS, key=lambda delimiter: _fit(text, delimiter))


def begins_with_title(file: TableFile) -> bool:
    """Return whether the first line of a csv is a title, and the names of columns come after it."""
    if file.format != "csv":
        return False
    with file.path.open(encoding=file.encoding, errors="replace", newline="") as stream:
        return find_below_title(stream.read(_SNIFF_CHARS)) is not None


def find_below_title(text: str) -> str | None:
    """Return the rows below a title or a few lines of remarks, or None without them."""
    for _ in range(_MOST_TITLES):
        first, text = _part_line(text)
        if _is_title(first, text):
            return text
        if not text or any(each in first for each in _DELIMITERS):
            return None
    return None


def _is_title(first: str, others: str) -> bool:
    """Return whether a line is one text, and whole rows of cells come after it."""
    delimiter = max(_DELIMITERS, key=lambda each: _fit(others, each))
    share, width = _fit(others, delimiter)
    lines = csv.reader(io.StringIO(others, newline=""), delimiter=delimiter)
    names = next(filter("".join, lines), [])  # spreadsheets write empty cells below a title
    title, *rest = next(csv.reader([first], delimiter=delimiter), []) or [""]  # [] is a blank line
    is_title = bool(title.strip()) and not any(rest) and not _SEPARATOR.match(first)
    if not is_title or share < 1.0 or width == 1 or not all(names):
        return False
    # every text may contain one comma by chance while another delimiter fits the first line
    text = f"{first}\n{others}"
    fits = (_fit(text, each) for each in _DELIMITERS if each != delimiter)
    return not any(whole == 1.0 and columns > 1 for whole, columns in fits)


def _fit(text: str, delimiter: str) -> tuple[float, int]:
    """Rate a delimiter: the share of rows as wide as the header, then the header's width."""
    csv.field_size_limit(_SNIFF_CHARS)
    stream = io.StringIO(text, newline="")
    lines = _LINE_END.split(text)[:_SNIFF_LINES]
    quoting = find_quoting(lines, delimiter)
    try:
        reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=True, quoting=quoting)
        rows = [row for row, _ in zip(reader, range(_SNIFF_LINES), strict=False) if row]
    except csv.Error:
        return (0.0, 0)
    width = len(rows[0]) if rows else 0
    if width < 2:  # noqa: PLR2004 - one cell means that the delimiter is not there
        return (0.0, width)
    return (sum(len(row) == width for row in rows) / len(rows), width)
