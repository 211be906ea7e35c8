"""Joins short rows into longer ones, so that a batch has hardly any padding."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from .packing import fill


def pack(rows: Any, length: int) -> Any:
    """Return a data set of packed rows of at most `length` tokens, packed a thousand at a time.

    The column `seq_lengths` has the lengths of the rows in each packed row.
    """
    rows = rows.select_columns(["input_ids", "labels"]).with_format("arrow")
    packed = rows.map(join, batched=True, fn_kwargs={"length": length}, load_from_cache_file=False)
    return packed.with_format(None)


def join(table: Any, length: int) -> Any:
    """Return an Arrow table of rows as a table of packed rows."""
    sizes = compute.list_value_length(table["input_ids"]).to_numpy()
    packed = fill(sizes.tolist(), length)
    table = table.take(list(chain.from_iterable(packed))).combine_chunks()
    ends = np.cumsum([0, *(sizes[members].sum() for members in packed)], dtype=np.int32)
    names = {name: table[name].chunk(0).flatten() for name in table.column_names}
    joined = {name: pa.ListArray.from_arrays(ends, row) for name, row in names.items()}
    within = pa.array([sizes[members].tolist() for members in packed])
    return pa.table({**joined, "seq_lengths": within})


def keep_apart(collate: Any) -> Callable[[Sequence[Any]], Any]:
    """Return a collator of packed rows whose attention and labels stay within each row.

    `collate` is TRL's collator. Position ids start again at 0 in each row, and attention uses them
    to separate the rows. The attention mask is removed, because with one every token would see the
    whole packed row. The first token of a row gets no loss, because its context is another row.
    """
    collate.return_position_ids = True

    def keep_rows_apart(rows: Sequence[Any]) -> Any:
        batch = collate(rows)
        del batch["attention_mask"]
        batch["labels"][batch["position_ids"] == 0] = -100
        return batch

    return keep_rows_apart
