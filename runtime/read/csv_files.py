"""Reads rows from csv files. Standard library only.

The reader for prepare.py returns chunks of rows, which processes work on; the compiler reads rows
with the function that it is made of.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from .rows import DataError, cut

_FIELD_CHARS: Final = 2**31 - 1
#: Added after the last line of a csv file: it becomes part of a quotation that is never closed.
_END: Final = "\x04"


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
    """Return the header, after a `sep=;`, and the rows; one with more cells than it is None."""
    csv.field_size_limit(_FIELD_CHARS)
    cells = _split_cells(lines, delimiter)
    header = next((line for line in cells if "".join(line).lower() != "sep="), [])
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
