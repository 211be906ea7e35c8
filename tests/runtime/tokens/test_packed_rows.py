"""Rows that are joined to longer ones: no token is lost, and none is seen by another row."""

from typing import Any

import pyarrow as pa
import pytest
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from ftc.runtime.tokens.packed_rows import join, keep_apart, pack

LENGTH = 12
SIZES = st.lists(st.integers(0, LENGTH), min_size=1, max_size=30)


def make_table(sizes: list[int]) -> pa.Table:
    """Return rows of these lengths, each of tokens of its own."""
    rows = [[100 * n + place for place in range(size)] for n, size in enumerate(sizes)]
    kind = pa.list_(pa.int64())
    labels = [[-100] * (len(row) // 2) + row[len(row) // 2 :] for row in rows]
    return pa.table({"input_ids": pa.array(rows, kind), "labels": pa.array(labels, kind)})


def split(row: dict[str, Any], name: str) -> list[list[int]]:
    """Return the rows of a packed row."""
    values = iter(row[name])
    return [[next(values) for _ in range(size)] for size in row["seq_lengths"]]


@settings(max_examples=60)
@given(SIZES)
def test_every_row_is_in_one_packed_row(sizes: list[int]) -> None:
    """With its labels, and no packed row is too long."""
    table = make_table(sizes)
    packed = join(table, LENGTH).to_pylist()

    for name in ("input_ids", "labels"):
        found = [part for row in packed for part in split(row, name)]
        assert sorted(found) == sorted(table[name].to_pylist())
    assert all(sum(row["seq_lengths"]) == len(row["input_ids"]) <= LENGTH for row in packed)


def test_slices_and_several_chunks_are_packed_alike() -> None:
    """As `datasets` gives the rows of a table that was filtered, or read from several files."""
    table = make_table([3, 4, 5, 6, 7])
    whole = join(table, LENGTH)
    cut = pa.concat_tables([table.slice(0, 2), table.slice(2)])

    assert join(cut, LENGTH).equals(whole)
    assert join(table.slice(1, 3), LENGTH).equals(join(make_table([0, 4, 5, 6]).slice(1), LENGTH))


def test_a_data_set_is_packed() -> None:
    """Other columns are left out; 1,001 rows are more than are packed at a time."""
    table = make_table([3] * 1001).append_column("messages", pa.array(["x"] * 1001))
    packed = pack(Dataset(table), LENGTH)

    assert packed.column_names == ["input_ids", "labels", "seq_lengths"]
    assert sum(map(len, packed["seq_lengths"])) == 1001
    assert len(packed) == 251


@pytest.mark.parametrize("sizes", [[5, 4, 3], [1], [12, 3]])
def test_a_row_begins_without_a_context(sizes: list[int]) -> None:
    """Its first token has no label, and no mask lets it see the row before; TRL collates."""
    collators = pytest.importorskip("trl.trainer.sft_trainer")
    collate = collators.DataCollatorForLanguageModeling(pad_token_id=0)
    rows = join(make_table(sizes), LENGTH).to_pylist()
    batch = keep_apart(collate)(rows)

    assert "attention_mask" not in batch
    assert (
        batch["input_ids"].shape
        == batch["labels"].shape
        == (len(rows), max(len(row["input_ids"]) for row in rows))
    )
    for row, places, labels in zip(rows, batch["position_ids"], batch["labels"], strict=True):
        wanted = [place for size in row["seq_lengths"] for place in range(size)]
        assert places.tolist()[: len(wanted)] == wanted
        assert (labels[places == 0] == -100).all()
        assert (labels[len(wanted) :] == -100).all()
