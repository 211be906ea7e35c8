"""Reads rows from parquet files, for prepare.py."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet

from .rows import CHUNK_ROWS, DataError, NamedClass

#: The metadata key under which the library `datasets` describes the columns.
_DESCRIPTION: Final = b"huggingface"
_NO_CLASS: Final = -1  # of a row without a label


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
    have those of all other tools too, with None as their value. A class index gets the name that
    the file has for it.
    """
    rows: list[dict[str, Any]] = batch.to_pylist()
    names = [field.name for field in batch.schema if _has_objects(field.type)]
    classes = _find_classes(batch.schema)
    for row in rows:
        row.update({name: _drop_absent(row[name]) for name in names})
        row.update({name: _name_class(row[name], each) for name, each in classes.items()})
    return rows


def _find_classes(schema: Any) -> Mapping[str, Sequence[str]]:
    """Return the class names of each `ClassLabel` column."""
    try:
        described = json.loads((schema.metadata or {})[_DESCRIPTION])["info"]["features"]
        named = {name: column.get("names") for name, column in described.items()}
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {
        field.name: named[field.name]
        for field in schema
        if pa.types.is_integer(field.type) and _are_names(named.get(field.name))
    }


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _name_class(value: int | None, names: Sequence[str]) -> int | None:
    """Return the index of a class with its name; None for a row without a label."""
    if value is None or value == _NO_CLASS:
        return None
    if not 0 <= value < len(names):
        return value
    named = NamedClass(value)
    named.name = names[value]
    return named


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
