"""Reads rows from csv files, in chunks for prepare.py. Standard library only."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
    """Return the header, after blank lines or a `sep=;`, and the rows.

    A row is None if it is wider than the header, or has text after a closing quotation mark.
    Where a space follows each delimiter of the header, it is no part of the cells.
    """
    csv.field_size_limit(_FIELD_CHARS)
    first, lines = tee(lines)
    named = next((it for it in map(str.strip, first) if it[:4].lower() not in ("", "sep=")), "")
    quote = "'" if _SINGLE_QUOTED.fullmatch(named) else '"'
    spaced = 0 < named.count(delimiter) == named.count(f"{delimiter} ")
    rows = _split_rows(lines, _Form(delimiter=delimiter, quote=quote, spaced=spaced))
    heads = (cells for cells, _ in rows if "".join(cells).strip().lower() not in ("", "sep="))
    header = next(heads, [])
    width = len(header)
    return header, (
        dict(zip(header, cells, strict=False)) if is_sound and len(cells) <= width else None
        for cells, is_sound in rows
        if cells
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How the cells of a table are written; `spaced`: a space before a cell is no part of it."""

    delimiter: str
    quote: str
    spaced: bool

    def read(self, lines: Iterable[str], *, strict: bool) -> Iterator[list[str]]:
        """Yield the cells of each row; a strict reader refuses text behind a quoted cell."""
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            skipinitialspace=self.spaced,
            strict=strict,
        )


def _split_rows(lines: Iterable[str], form: _Form) -> Iterator[tuple[list[str], bool]]:
    """Yield the cells of each row, and whether no text follows a closing quotation mark.

    Raises DataError for a quotation mark that is never closed.
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
    strict = form.read(source, strict=True)
    while True:
        begins = number + 1
        taken.clear()
        try:
            cells, is_sound = next(strict), True
        except StopIteration:
            return
        except csv.Error:
            cells, is_sound = _read_loosely(taken, source, form, begins)
        if is_over and cells != [_END]:
            text = f"line {begins}: a quotation mark is never closed"
            raise DataError(text, key="quotation", line=begins)
        if is_over:
            return
        yield cells, is_sound


def _read_loosely(
    taken: Sequence[str], source: Iterator[str], form: _Form, begins: int
) -> tuple[list[str], bool]:
    """Read a row that a strict reader refuses; it is sound if only spaces follow the quotations."""
    start = list(taken)
    try:
        cells = next(form.read(chain(start, source), strict=False))
    except csv.Error as error:
        why = str(error)
        line = begins + len(start) - 1
        raise DataError(f"line {line}: {why}", key="line", line=line, reason=why) from error
    quote, delimiter = re.escape(form.quote), re.escape(form.delimiter)
    trimmed = re.sub(rf"{quote} +(?={delimiter}|[\r\n]|$)", form.quote, "".join(taken))
    try:
        return next(form.read(io.StringIO(trimmed, newline=""), strict=True)), True
    except (csv.Error, StopIteration):
        return cells, False
