"""The files of a source as tables: what their bytes are, and their rows."""

from collections.abc import Iterator, Sequence
from itertools import chain

from ftc.compiler.resolve.data import findings as data_faults
from ftc.compiler.resolve.data.files import DataFiles
from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.rows.reader import Row, find_other_kind, read_table
from ftc.compiler.resolve.rows.table import TableFile, find_json, inspect_file
from ftc.spec.sources import WholeSource


def inspect_files(source: WholeSource, found: DataFiles) -> list[TableFile] | Unknown:
    """Return the files with what their bytes are, Unknown where one is no table."""
    if found.format != "parquet":
        for path in found.paths:
            if kind := find_other_kind(path):
                return Unknown(finding=data_faults.other_kind(source, kind))
    if found.format == "csv" and (shown := find_json(found.paths[0])):
        return Unknown(finding=data_faults.no_csv(source, shown))
    files = [inspect_file(path, found.format) for path in found.paths]
    for file in files:
        if not isinstance(file, TableFile):
            return Unknown(finding=data_faults.binary(source, file))
    return [file for file in files if isinstance(file, TableFile)]


def open_tables(
    files: Sequence[TableFile],
) -> tuple[tuple[str, ...], Iterator[Iterator[Row | None]]]:
    """Return the rows of each file; the first one names the columns."""
    first = read_table(files[0])
    others = (read_table(file).rows for file in files[1:])
    return first.columns, chain((first.rows,), others)


def read_again(files: Sequence[TableFile]) -> Iterator[Row | None]:
    """Return the rows from the first one, for a look before they are counted."""
    return chain.from_iterable(open_tables(files)[1])
