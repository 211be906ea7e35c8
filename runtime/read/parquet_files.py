"""Reads rows from parquet files, for prepare.py."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from .rows import CHUNK_ROWS, DataError


def read_parquet(paths: Sequence[Path]) -> Iterator[Any]:
    """Yield the batches of rows of files."""
    for path in paths:
        try:
            yield from pa.parquet.ParquetFile(path).iter_batches(CHUNK_ROWS)
        except pa.ArrowInvalid as error:
            raise DataError(f"{path} is not a parquet file: {error}") from error


def unpack_batch(batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a batch."""
    return list(batch.to_pylist())
