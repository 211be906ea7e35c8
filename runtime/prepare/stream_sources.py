"""Opens the sources of a mixture that come over the network."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..read.json_files import parse_lines
from ..read.parquet_files import unpack_batch
from ..read.streaming import File, Stream, read_csv, read_jsonl, read_parquet
from .records import Source


def open_stream(
    files: Sequence[File],
    *,
    goal: int,
    seed: int,
    deduplicate: bool,
    folder: Path,
    kind: str,
    encoding: str,
    delimiter: str | None,
    columns: Mapping[str, str],
    **settings: Any,
) -> Source:
    """Return a source of streamed files of one format: csv, jsonl or parquet.

    The first arguments are fields of Stream, `columns` and `settings` of Source.
    """
    read: Any = partial(read_parquet, columns=list(columns.values()))
    unpack: Any = unpack_batch
    if kind == "csv":
        read, unpack = partial(read_csv, encoding=encoding, delimiter=delimiter or ","), iter
    elif kind == "jsonl":
        read, unpack = partial(read_jsonl, encoding=encoding), parse_lines
    stream = Stream(
        files=files, read=read, goal=goal, seed=seed, deduplicate=deduplicate, folder=folder
    )
    return Source(
        chunks=stream.take,
        again=stream.again,
        is_enough=stream.is_enough,
        unpack=unpack,
        columns=columns,
        **settings,
    )
