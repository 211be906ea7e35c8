"""Parquet files: their rows, and a clear message if a file is damaged."""

import json
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from ftc.compiler.resolve.rows.reader import read_table
from ftc.compiler.resolve.rows.table import TableFile, inspect_file
from ftc.runtime.read.compared_rows import read_scored, read_verdict
from ftc.runtime.read.parquet_files import read_parquet, unpack_batch
from ftc.runtime.read.rows import CHUNK_ROWS, DataError
from ftc.runtime.read.text_rows import read_cell, read_texts

ROWS = [{"text": f"però {n}", "turns": [{"role": "user", "content": "x" * n}]} for n in range(300)]


def write(path: Path, rows: Sequence[Any] | pa.Table, **options: Any) -> Path:
    """Write a file of rows."""
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
    parquet.write_table(table, path, **options)
    return path


def read(*paths: Path) -> list[Any]:
    """Return the rows of files."""
    return [row for batch in read_parquet(paths) for row in unpack_batch(batch)]


def test_rows_of_files_come_in_their_order(tmp_path: Path) -> None:
    """No batch has more rows than a process works on, or rows of two files."""
    paths = [write(tmp_path / name, ROWS, row_group_size=70) for name in ("a", "b")]

    assert read(*paths) == ROWS * 2
    sizes = [batch.num_rows for batch in read_parquet(paths)]
    assert sum(sizes) == 600
    assert sizes[: len(sizes) // 2] == sizes[len(sizes) // 2 :]
    assert max(sizes) <= CHUNK_ROWS


def test_a_file_without_rows_has_none(tmp_path: Path) -> None:
    """Some exports end with an empty part."""
    empty = pa.Table.from_pylist([], schema=pa.schema({"text": pa.string()}))

    assert read(write(tmp_path / "empty", empty), write(tmp_path / "one", ROWS[:1])) == ROWS[:1]


def test_missing_cells_and_categories_are_values(tmp_path: Path) -> None:
    """A missing cell is None; a category is its text."""
    kinds = pa.array(["a", None, "a"]).dictionary_encode()

    assert read(write(tmp_path / "x", pa.table({"kind": kinds}))) == [
        {"kind": "a"},
        {"kind": None},
        {"kind": "a"},
    ]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"id,text\n1,x\n", b"version https://git-lfs"])
def test_another_file_is_named(tmp_path: Path, content: bytes) -> None:
    """An empty file, text, and the pointer of a large file."""
    path = tmp_path / "rows.parquet"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"rows\.parquet cannot be read: "):
        read(path)


def test_damage_anywhere_is_an_error_of_the_data(tmp_path: Path) -> None:
    """A file that breaks off, and one with other bytes; pyarrow has an error for each place."""
    whole, path = write(tmp_path / "whole", ROWS, row_group_size=100).read_bytes(), tmp_path / "cut"
    pick, stopped = random.Random(0), 0  # noqa: S311 - the same damage every time
    for n in range(150):
        damaged = bytearray(whole)
        place = pick.randrange(len(whole))
        damaged[place : None if n % 3 == 0 else place + 1] = bytes([pick.randrange(256)])
        path.write_bytes(damaged)
        try:
            read(path)
        except DataError:
            stopped += 1

    assert stopped > 50


@pytest.mark.parametrize(
    "cells",
    [
        pa.Array.from_buffers(
            pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\4\0\0\0"), pa.py_buffer(b"caf\xe9")]
        ),
        pa.array([10**18], pa.timestamp("us")),
        pa.array([4 * 10**8], pa.date32()),
        pa.array([1], pa.timestamp("us", "Nowhere/Else")),
    ],
    ids=["no UTF-8", "a late time", "a late date", "a zone"],
)
def test_a_cell_that_python_has_no_value_for(tmp_path: Path, cells: Any) -> None:
    """Other programs write such cells; the compiler refuses the file too."""
    path = write(tmp_path / "x", pa.table({"a": cells}))
    with pytest.raises(DataError, match="a row of a parquet file cannot be read: "):
        read(path)


def test_objects_have_only_the_keys_that_they_have_a_value_for(tmp_path: Path) -> None:
    """Arrow gives all objects the same keys, so a call would get the arguments of other tools."""
    rows: list[dict[str, Any]] = [
        {"id": None, "turns": [{"role": "user", "content": "hi"}, {"call": {"name": "a", "x": n}}]}
        for n in range(2)
    ]
    rows.append({"id": 1, "turns": [{"role": "user", "call": {"name": "b", "y": [None, "z"]}}]})

    assert read(write(tmp_path / "x", rows)) == rows
    file = inspect_file(tmp_path / "x", "parquet")
    assert isinstance(file, TableFile)
    assert list(read_table(file).rows) == rows


def describe(features: object) -> Any:
    """Return what the library datasets writes into a file."""
    return {"huggingface": json.dumps({"info": {"features": features}})}


NAMES = {"label": {"names": ["no", "yes"], "_type": "ClassLabel"}, "text": {"_type": "Value"}}


def test_classes_have_the_names_that_the_file_gives_them(tmp_path: Path) -> None:
    """Texts use the name, verdicts and scores the number. -1 means no label."""
    table = pa.table({"text": ["a", "b", "c", "d"], "label": [1, 0, -1, 7]})
    path = write(tmp_path / "x", table.replace_schema_metadata(describe(NAMES)))

    rows = read(path)
    assert [row["label"] for row in rows] == [1, 0, None, 7]
    assert [read_cell(row["label"]) for row in rows] == ["yes", "no", "", "7"]
    assert pickle.loads(pickle.dumps(rows[0]["label"])).name == "yes"  # noqa: S301 - our own
    texts = read_texts(rows[0], prompt="text", completion="label")
    assert texts == (("user", "a"), ("assistant", "yes"))
    scored = read_scored(rows[0], prompt="text", completion="text", score="label")
    assert scored[-1] == ("score", "1")
    judged = read_verdict(rows[1], prompt="text", completion="text", label="label")
    assert judged[-1] == ("label", "false")
    file = inspect_file(path, "parquet")
    assert isinstance(file, TableFile)
    first = next(read_table(file).rows)
    assert first is not None
    assert read_cell(first["label"]) == "yes"


@pytest.mark.parametrize(
    "features",
    [None, [], {"label": None}, {"label": {"names": 2}}, {"label": {"names": [1]}}, {"x": {}}],
)
def test_other_descriptions_name_no_classes(tmp_path: Path, features: object) -> None:
    """Nor does metadata of a text column."""
    table = pa.table({"label": [1]}).replace_schema_metadata(describe(features))
    assert [read_cell(row["label"]) for row in read(write(tmp_path / "x", table))] == ["1"]
    texts = pa.table({"label": ["1"]}).replace_schema_metadata(describe(NAMES))
    assert read(write(tmp_path / "y", texts)) == [{"label": "1"}]
