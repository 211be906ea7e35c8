"""The importance matrix: how strongly training rows excite each column of each weight.

A quantizer uses it to spend its precision on the columns that matter. While the 16-bit model
reads training rows, this adds up the squares of the inputs of each weight of a layer, as the tool
llama-imatrix of llama.cpp does; an expert counts the tokens that were sent to it.
"""

import ctypes
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import llama_cpp
import numpy as np
from llama_cpp._ggml import libggml

from ..run import Run
from .gguf_file import BATCH_TOKENS, read, redirect_output

LEAST_SHARE: Final = 1e-6  # of a row's mean: the quantizer would divide by an importance of 0
OBJECT_BYTES: Final = 32  # that ggml counts for a tensor beside the tensor itself

# -----------------------------------------------------------------------------
# A tensor of ggml, as ggml.h of this version lays it out


class Tensor(ctypes.Structure):
    """A tensor's address, its sizes `ne` and strides `nb`, its operation and its sources."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("buffer", ctypes.c_void_p),
        ("ne", ctypes.c_int64 * 4),
        ("nb", ctypes.c_size_t * 4),
        ("op", ctypes.c_int),
        ("op_params", ctypes.c_int32 * 16),
        ("flags", ctypes.c_int32),
        ("src", ctypes.c_void_p * 10),
        ("view_src", ctypes.c_void_p),
        ("view_offs", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("name", ctypes.c_char * 64),
        ("extra", ctypes.c_void_p),
        ("padding", ctypes.c_char * 8),
    )

    def read_source(self, number: int) -> "Tensor":
        """Return one of the tensors that this one is computed from."""
        return Tensor.from_address(self.src[number])


def _view(tensor: Any, dtype: Any) -> Any:
    """Return a tensor's numbers as an array that shares its memory, the largest strides first."""
    shape, steps = tuple(tensor.ne)[::-1], tuple(tensor.nb)[::-1]
    last = sum((side - 1) * step for side, step in zip(shape, steps, strict=True))
    memory = (ctypes.c_char * (last + np.dtype(dtype).itemsize)).from_address(tensor.data)
    return np.ndarray(shape, dtype, memory, strides=steps)


def _add(sums: Any, counts: Any, tensor: Any) -> None:
    """Add the squared inputs of one matrix product; both arrays have a row for each expert."""
    rows = _view(tensor.read_source(1), np.float32)[0]
    if libggml.ggml_op_name(tensor.op) == b"MUL_MAT_ID":  # rows: tokens x experts used or 1
        experts = _view(tensor.read_source(2), np.int32)[0, 0]
        rows = np.broadcast_to(rows, (*experts.shape, rows.shape[-1]))
        np.add.at(sums, experts, np.square(rows, dtype=np.float64))
        np.add.at(counts, experts, 1)
    else:  # rows: matrices x tokens
        places = np.arange(len(rows)) % len(sums)
        np.add.at(sums, places, np.square(rows, dtype=np.float64).sum(axis=1))
        np.add.at(counts, places, rows.shape[1])


# -----------------------------------------------------------------------------
# Measure


def measure(run: Run, path: Path, rows: Sequence[Sequence[int]]) -> dict[bytes, Any]:
    """Return the importance of every column by the weight's name: experts x columns, flat.

    `rows` are token ids. Computed on the CPU, where the inputs can be read.
    """
    libggml.ggml_op_name.restype = ctypes.c_char_p
    libggml.ggml_tensor_overhead.restype = ctypes.c_size_t
    is_known = ctypes.sizeof(Tensor) + OBJECT_BYTES == libggml.ggml_tensor_overhead()
    run.ensure(
        is_known, "tensors have the layout in memory that runtime/llama_cpp/importance.py reads"
    )
    totals: dict[bytes, tuple[Any, Any]] = {}

    def listen(address: Any, asking: bool, _: Any) -> bool:
        tensor = Tensor.from_address(address)
        if libggml.ggml_op_name(tensor.op) not in (b"MUL_MAT", b"MUL_MAT_ID"):
            return False
        weight = tensor.read_source(0)
        if not (weight.name.startswith(b"blk.") and weight.name.endswith(b".weight")):
            return False
        if not asking:
            columns, matrices = weight.ne[0], weight.ne[2]
            empty = np.zeros((matrices, columns)), np.zeros(matrices, np.int64)
            _add(*totals.setdefault(weight.name, empty), tensor)
        return True

    with redirect_output(run.folder / "quantize" / "llama.log"):
        _read_rows(run, path, rows, llama_cpp.ggml_backend_sched_eval_callback(listen))
    run.say(f"importance of each column: {sum(map(len, rows)):,} tokens of {len(rows):,} rows")
    return {name: weigh(run, *total) for name, total in totals.items()}


def _read_rows(run: Run, path: Path, rows: Sequence[Sequence[int]], listen: Any) -> None:
    """Read every position of every row: with fewer, the last layer would see only one."""
    settings: Any = llama_cpp.llama_model_default_params()
    settings.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), settings)
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx = max(map(len, rows))
    settings.n_batch = settings.n_ubatch = BATCH_TOKENS
    settings.n_threads = settings.n_threads_batch = len(os.sched_getaffinity(0))
    settings.offload_kqv = settings.op_offload = False
    settings.cb_eval = listen
    context = llama_cpp.llama_init_from_model(model, settings)
    words = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    llm = SimpleNamespace(ctx=context, n_vocab=lambda: words)
    for ids in rows:
        for _ in read(run, llm, ids, len(ids)):
            pass
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)


def prepare(run: Run, path: Path, *, tokens: int) -> tuple[dict[bytes, Any], Any]:
    """Return the importance matrix of a 16-bit file, measured on this many training tokens.

    The second value is the matrix for llama.cpp; it is valid as long as the first is in memory.
    """
    rows = run.read_rows(run.folder / "data" / "train.jsonl")
    matrix = measure(run, path, draw_rows(rows, tokens))
    return matrix, make_entries(matrix)


def draw_rows(rows: Sequence[Mapping[str, Any]], tokens: int) -> list[list[int]]:
    """Return the ids of rows in a fixed random order, `tokens` in all, the last one cut."""
    drawn: list[list[int]] = []
    for row in random.Random(0).sample(rows, len(rows)):  # noqa: S311 - a fixed order
        if tokens > 0:
            drawn.append(row["input_ids"][:tokens])
            tokens -= len(drawn[-1])
    return drawn


def weigh(run: Run, sums: Any, counts: Any) -> Any:
    """Return the mean squares; all columns of an expert that got no token have equal importance."""
    means = sums / np.maximum(counts, 1)[:, None]
    run.ensure(np.isfinite(means).all(), "the activations of the 16-bit model are finite")
    means[~means.any(axis=1)] = 1.0
    floor = LEAST_SHARE * means.mean(axis=1, keepdims=True)
    return np.maximum(means, floor).astype(np.float32).ravel()


def make_entries(matrix: Mapping[bytes, Any]) -> Any:
    """Return the matrix in llama.cpp's form; `matrix` must stay in memory while it is used."""
    entries = (llama_cpp.llama_model_imatrix_data * (len(matrix) + 1))()  # an empty one ends it
    for entry, (name, values) in zip(entries, matrix.items(), strict=False):
        entry.name, entry.size = name, values.size
        entry.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    return entries
