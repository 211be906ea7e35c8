"""Reads rows from csv files. Standard library only.

The reader for prepare.py returns chunks of rows, which processes work on; the compiler reads rows
with the function that it is made of.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from .rows import DataError, cut

_FIELD_CHARS: Final = 2**31 - 1
#: Added after the last line of a csv file: it becomes part of a quotation that is never closed.
_END: Final = "\x04"
_SINGLE_QUOTED: Final = re.compile(r"'[^']*'")


def read_csv(paths: Sequence[Path], *, encoding: str, delimiter: str) -> Iterator[list[Any]]:
    """Yield the rows of tables in chunks; a broken row is None."""
    for path in paths:
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            try:
                yield from cut(parse_csv(file, delimiter)[1])
            except DataError as error:
                raise DataError(f"{path} cannot be read: {error}") from error


def parse_csv(
    lines: Iterable[str], delimiter: str
) -> tuple[list[str], Iterator[dict[str, str] | None]]:
    """Return the header, after blank lines or a `sep=;`, and the rows.

    A row with more cells than the header is None. Single quotes around all names quote the cells.
    """
    csv.field_size_limit(_FIELD_CHARS)
    source = iter(lines)
    first = next((line for line in source if not _comes_before(line, delimiter)), "")
    quote = "'" if _is_single_quoted(first, delimiter) else '"'
    cells = _split_cells(chain([first], source) if first else (), delimiter, quote)
    header = next(cells, [])
    width = len(header)
    rows = (
        dict(zip(header, row, strict=False)) if len(row) <= width else None for row in cells if row
    )
    return header, rows


def _comes_before(line: str, delimiter: str) -> bool:
    """Return whether a line is none of the table: blank, or what names the delimiter."""
    return line.strip("\r\n ").lower() in ("", f"sep={delimiter}")


def _is_single_quoted(line: str, delimiter: str) -> bool:
    """Return whether all names of a header are in single quotes."""
    return all(_SINGLE_QUOTED.fullmatch(name.strip()) for name in line.split(delimiter))


def _split_cells(lines: Iterable[str], delimiter: str, quote: str) -> Iterator[list[str]]:
    """Yield the cells of each row; raises DataError for a quotation mark that is never closed."""
    reader = csv.reader(chain(lines, [_END]), delimiter=delimiter, quotechar=quote)
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
