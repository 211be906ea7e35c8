"""The importance of columns: what the layers of a small GGUF file really read."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftc.runtime.files import write_rows
from ftc.runtime.llama_cpp import importance
from ftc.runtime.run import Run
from tests.tui.agent.tiny_gguf import write_tiny

ROWS = [[1, 40, 41, 42], [1, 50], list(range(60, 100))]


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Run:
    (tmp_path / "run" / "quantize").mkdir(parents=True)
    return Run(tmp_path, stage="quantize", script="export.py")


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    return write_tiny(tmp_path / "tiny.gguf", context_tokens=128)


def normed_squares(path: Path, rows: list[list[int]]) -> Any:
    """Return the mean squares of what the first layer reads: each embedding at the size of one."""
    reader: Any = gguf.GGUFReader(path)
    table = next(tensor.data for tensor in reader.tensors if tensor.name == "token_embd.weight")
    read = np.concatenate([table[ids] for ids in rows]).astype(float)
    read /= np.sqrt(np.square(read).mean(axis=1, keepdims=True) + 1e-5)
    return np.square(read).mean(axis=0)


def test_the_squares_of_inputs_are_added_up(run: Run, path: Path) -> None:
    """Of each matrix of the layers, over every token of every row."""
    found = importance.measure(run, path, ROWS)

    names = {f"blk.0.{name}.weight".encode() for name in (
        "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"
    )}  # fmt: skip
    assert found.keys() == names
    wanted = normed_squares(path, ROWS)
    for name in ("q", "k", "v"):
        assert found[f"blk.0.attn_{name}.weight".encode()] == pytest.approx(wanted, rel=1e-2)
    assert found[b"blk.0.ffn_down.weight"].shape == (64,)
    assert all(values.dtype == "float32" and (values > 0).all() for values in found.values())


def test_llama_cpp_quantizes_with_the_matrix(run: Run, path: Path) -> None:
    """The entries end with an empty one, and point at the numbers."""
    write_rows(run.folder / "data" / "train.jsonl", [{"input_ids": ids} for ids in ROWS])
    matrix, entries = importance.prepare(run, path, tokens=20)

    assert len(entries) == len(matrix) + 1
    for entry, (name, values) in zip(entries, matrix.items(), strict=False):
        assert entry.name == name
        assert [entry.data[place] for place in range(entry.size)] == values.tolist()
    assert not entries[len(matrix)].name


@settings(max_examples=60)
@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 60))
def test_rows_are_drawn_up_to_the_tokens(lengths: list[int], tokens: int) -> None:
    """No row twice, all in the same order every time, and the last one cut."""
    rows = [{"input_ids": [n] * length} for n, length in enumerate(lengths)]
    drawn = importance.draw_rows(rows, tokens)

    assert drawn == importance.draw_rows(rows, tokens)
    assert sum(map(len, drawn)) == min(tokens, sum(lengths))
    seen = [ids[0] for ids in drawn if ids]
    assert len(set(seen)) == len(seen)
    assert all(len(ids) == lengths[ids[0]] for ids in drawn[:-1] if ids)


def test_an_expert_without_tokens_counts_all_columns_alike(run: Run) -> None:
    """And no column is worth nothing, because the quantizer divides by it."""
    sums, counts = np.array([[4.0, 0.0], [0.0, 0.0]]), np.array([2, 0])
    found = importance.weigh(run, sums, counts)

    assert found.tolist() == pytest.approx([2.0, importance.LEAST_SHARE, 1.0, 1.0])


def test_activations_that_are_no_numbers_end_the_stage(run: Run) -> None:
    """The 16-bit model is broken, and no file of it is of use."""
    with pytest.raises(SystemExit, match="the activations of the 16-bit model are finite"):
        importance.weigh(run, np.array([[np.inf, 1.0]]), np.array([1]))
