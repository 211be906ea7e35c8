"""Opens the sources of a mixture, whose files have several formats."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..read.csv_files import read_csv
from ..read.json_files import parse_lines, read_json, read_jsonl
from ..read.parquet_files import read_parquet, unpack_batch
from .records import Source


def open_source(
    find_files: Callable[[], Sequence[Path]],
    *,
    kind: str,
    encoding: str,
    delimiter: str | None,
    **settings: Any,
) -> Source:
    """Return a source of files of one format: csv, jsonl, json or parquet.

    `settings` are fields of Source.
    """
    if kind == "csv":
        read = partial(read_csv, encoding=encoding, delimiter=delimiter or ",")
        return Source(chunks=lambda: read(find_files()), **settings)
    if kind == "jsonl":
        lines = partial(read_jsonl, encoding=encoding)
        return Source(chunks=lambda: lines(find_files()), unpack=parse_lines, **settings)
    if kind == "json":
        rows = partial(read_json, encoding=encoding)
        return Source(chunks=lambda: rows(find_files()), **settings)
    return Source(chunks=lambda: read_parquet(find_files()), unpack=unpack_batch, **settings)
