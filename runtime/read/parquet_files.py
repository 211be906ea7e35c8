"""Reads rows from parquet files, for prepare.py."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from .rows import CHUNK_ROWS, DataError


def read_parquet(paths: Sequence[Path]) -> Iterator[Any]:
    """Yield the batches of rows of files."""
    for path in paths:
        with raising_data_error(str(path)):
            yield from pa.parquet.ParquetFile(path).iter_batches(CHUNK_ROWS)


def unpack_batch(batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a batch."""
    with raising_data_error("a row of a parquet file"):
        return list_rows(batch)


def list_rows(batch: Any) -> list[dict[str, Any]]:
    """Return the rows of a batch, without the keys of nested objects that have no value.

    Arrow gives all objects in a column the same keys. The arguments of a tool call, for example,
    have those of all other tools too, with None as their value.
    """
    rows: list[dict[str, Any]] = batch.to_pylist()
    names = [field.name for field in batch.schema if _has_objects(field.type)]
    for row in rows:
        row.update({name: _drop_absent(row[name]) for name in names})
    return rows


def _has_objects(kind: Any) -> bool:
    inner = (kind.field(place).type for place in range(kind.num_fields))
    return pa.types.is_struct(kind) or any(map(_has_objects, inner))


def _drop_absent(value: Any) -> Any:
    """Return a value without the keys of objects that have None."""
    if isinstance(value, dict):
        return {key: _drop_absent(each) for key, each in value.items() if each is not None}
    return [_drop_absent(each) for each in value] if isinstance(value, list) else value


@contextmanager
def raising_data_error(name: str) -> Iterator[None]:
    """Raise DataError for a file that is damaged, and for a cell that Python has no value for.

    Such a cell is a text that is not UTF-8, a date after the year 9999, or a time in an unknown
    zone. For damage pyarrow raises errors of several classes of Python.
    """
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
        raise DataError(f"{name} cannot be read: {error}") from error
