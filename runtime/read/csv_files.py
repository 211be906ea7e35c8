"""Reads rows from csv files, in chunks for prepare.py. Standard library only."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal

from .rows import DataError, cut

_MakeReader = Callable[..., Iterator[list[str]]]
_FIELD_CHARS: Final = 2**31 - 1
#: Added after the last line of a csv file: it becomes part of a quotation that is never closed.
_END: Final = "\x04"
_FIRST_LINES: Final = 1000
_QUOTED: Final = re.compile(r'"(?:[^"]|"")*"')
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
    """Return the header, after blank lines or a `sep=;`, and the rows.

    A row is None if it is wider than the header, or has text after a closing quotation mark.
    If a space follows each delimiter of the header, leading spaces are not part of the cells.
    """
    csv.field_size_limit(_FIELD_CHARS)
    lines = iter(lines)
    first = list(islice(lines, _FIRST_LINES))
    lines = chain(first, lines)
    named = next((it for it in map(str.strip, first) if it[:4].lower() not in ("", "sep=")), "")
    quote = "'" if _SINGLE_QUOTED.fullmatch(named) else '"'
    spaced = 0 < named.count(delimiter) == named.count(f"{delimiter} ")
    read = partial(
        csv.reader,
        delimiter=delimiter,
        quotechar=quote,
        quoting=find_quoting(first, delimiter),
        skipinitialspace=spaced,
    )
    after = re.compile(rf"(?<={quote}) +(?={re.escape(delimiter)}|[\r\n]|$)")
    rows = _split_rows(lines, read, after)
    heads = (cells for cells, _ in rows if "".join(cells).strip().lower() not in ("", "sep="))
    header = next(heads, [])
    width = len(header)
    return header, (
        dict(zip(header, cells, strict=False)) if is_sound and len(cells) <= width else None
        for cells, is_sound in rows
        if cells
    )


def find_quoting(lines: Sequence[str], delimiter: str) -> Literal[0, 3]:
    """Return csv.QUOTE_NONE if quotation marks in a table are part of its texts.

    That is common in tab-separated tables. All lines then have the same number of cells, and in a
    cell that begins with a mark the quotation does not end with the cell.
    """
    rows = [line.rstrip("\r\n").split("\t") for line in lines if line.strip()]
    quoted = (cell.strip() for row in rows for cell in row if cell.startswith('"'))
    is_table = delimiter == "\t" and len(set(map(len, rows))) == 1
    is_text = is_table and not all(map(_QUOTED.fullmatch, quoted))
    return csv.QUOTE_NONE if is_text else csv.QUOTE_MINIMAL


def _split_rows(
    lines: Iterable[str], read: _MakeReader, after: re.Pattern[str]
) -> Iterator[tuple[list[str], bool]]:
    """Yield the cells of each row, and whether only spaces follow its closing quotation marks.

    `after` finds such spaces. Raises DataError for a quotation mark that is never closed.
    """
    taken: list[str] = []  # the lines of the row that is being read
    number, is_over = 0, False

    def take() -> Iterator[str]:
        nonlocal number, is_over
        for line in lines:
            number += 1
            taken.append(line)
            yield line
        is_over = True
        yield _END

    source = take()
    strict = read(source, strict=True)
    while True:
        begins = number + 1
        taken.clear()
        try:
            cells, is_sound = next(strict), True
        except csv.Error:
            cells, is_sound = _read_loosely(taken, source, read, after, begins)
        if is_over and cells == [_END]:
            return
        if is_over:
            text = f"line {begins}: a quotation mark is never closed"
            raise DataError(text, key="quotation", line=begins)
        yield cells, is_sound


def _read_loosely(
    taken: Sequence[str],
    source: Iterator[str],
    read: _MakeReader,
    after: re.Pattern[str],
    begins: int,
) -> tuple[list[str], bool]:
    """Read a row that a strict reader rejects; it is sound if only spaces follow quotations."""
    try:
        cells = next(read(chain(tuple(taken), source)))
    except csv.Error as error:
        line, why = begins + len(taken) - 1, str(error)
        raise DataError(f"line {line}: {why}", key="line", line=line, reason=why) from error
    try:
        return next(read([after.sub("", line) for line in taken], strict=True), cells), True
    except csv.Error:
        return cells, False
