"""Reads rows from csv files, in chunks for prepare.py. Standard library only."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, tee
from pathlib import Path
from typing import Any, Final

from .rows import DataError, cut

_FIELD_CHARS: Final = 2**31 - 1
#: Added after the last line of a csv file: it becomes part of a quotation that is never closed.
_END: Final = "\x04"
_SINGLE_QUOTED: Final = re.compile(r"'[^']*'(?:\s*[,;\t|]\s*'[^']*')*")


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
    """Return the header, after blank lines or a `sep=;`, and the rows; a wider one is None."""
    csv.field_size_limit(_FIELD_CHARS)
    first, lines = tee(lines)
    named = next((it for it in map(str.strip, first) if it[:4].lower() not in ("", "sep=")), "")
    cells = _split_cells(lines, delimiter, "'" if _SINGLE_QUOTED.fullmatch(named) else '"')
    header = next((row for row in cells if "".join(row).strip().lower() not in ("", "sep=")), [])
    width = len(header)
    rows = (
        dict(zip(header, row, strict=False)) if len(row) <= width else None for row in cells if row
    )
    return header, rows


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
