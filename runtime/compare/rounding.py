"""Compares the rounding error of each matrix in a GGUF file with the error of its type.

llama.cpp's own quantizer rounds a sample of the rows of each matrix again, from the 16-bit file.
The file's error must not exceed the error of that second rounding.
"""

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from llama_cpp._ggml import libggml

SAMPLE_WEIGHTS = 32_768  # at least, of each matrix, in evenly spaced rows
TOLERANCE = 1.05  # times the error of rounding the same rows again, which should be equal
Round = Callable[[Any, Any, Any], Any]  # from rows of a matrix, their row numbers and its tensor
OUTSIDE = {"token_embd.weight": "embedding", "output.weight": "head"}  # all others are layers


def _find_quantizer() -> Any:
    """Return llama.cpp's `ggml_quantize_chunk`, typed without changing the library's own object."""
    whole, address = ctypes.c_int64, ctypes.c_void_p
    types = (ctypes.c_int, address, address, whole, whole, whole, address)
    function = ctypes.CFUNCTYPE(ctypes.c_size_t, *types)
    return function(("ggml_quantize_chunk", libggml))


def round_alike(values: Any, _rows: Any, tensor: Any) -> Any:
    """Round rows of a matrix as the quantizer of its file does."""
    return round_rows(values, tensor.tensor_type)


def measure(source: Path, path: Path, round_again: Round = round_alike) -> list[dict[str, Any]]:
    """Return the rounding error of each matrix in a file, relative to its weights.

    `source` is the 16-bit file. `round_again` is that of weighed_rounding for a file that was
    written with an importance matrix. `error` is the error of the file, `expected` the error of
    rounding to its type. A matrix that is missing or has another shape has an infinite error.
    """
    found = []
    file = {each.name: each for each in gguf.GGUFReader(path).tensors}
    for original in gguf.GGUFReader(source).tensors:
        if len(original.shape) == 1:  # norms and biases stay as they are
            continue
        tensor = file.get(original.name)
        entry = {"name": original.name, "weights": int(original.n_elements)}
        if tensor is None or tuple(tensor.shape) != tuple(original.shape):
            found.append(entry | {"type": "none", "error": math.inf, "expected": 0.0})
            continue
        rows = _draw_rows(original)
        right = _read(original, rows)
        again = round_again(right, rows, tensor)
        entry["type"] = tensor.tensor_type.name
        entry["error"] = _relative_error(_read(tensor, rows), right)
        entry["expected"] = _relative_error(again, right)
        found.append(entry)
    return found


def find_fault(found: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a sentence about a matrix whose error is larger than its type explains, or None."""
    for entry in found:
        if not entry["error"] <= TOLERANCE * entry["expected"]:
            return (
                f"its {entry['name']} has a relative error of {entry['error']:.4f} against the"
                f" 16-bit file, and rounding to {entry['type']} explains {entry['expected']:.4f}"
            )
    return None


def summarize(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the matrix whose error exceeds the expected error most, for the report."""
    worst = max(found, key=lambda entry: entry["error"] - TOLERANCE * entry["expected"])
    return {name: worst[name] for name in ("name", "type", "expected")} | {
        "error": worst["error"] if math.isfinite(worst["error"]) else None
    }


def sum_parts(found: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the expected error of the embedding, the layers, and the head if it is separate."""
    powers: dict[str, tuple[float, int]] = {}
    for entry in found:
        part = OUTSIDE.get(entry["name"], "layers")
        power, weights = powers.get(part, (0.0, 0))
        power += entry["weights"] * entry["expected"] ** 2
        powers[part] = power, weights + entry["weights"]
    return {part: math.sqrt(power / weights) for part, (power, weights) in powers.items()}


def round_rows(values: Any, kind: Any, importance: Any = None) -> Any:
    """Return rows of 32-bit numbers, rounded by llama.cpp to a type and converted back."""
    values = np.ascontiguousarray(values, np.float32)
    rows, columns = values.shape
    block, size = gguf.GGML_QUANT_SIZES[kind]
    packed = np.zeros((rows, columns // block * size), np.uint8)
    weights = None if importance is None else importance.ctypes.data
    _find_quantizer()(int(kind), values.ctypes.data, packed.ctypes.data, 0, rows, columns, weights)
    return gguf.dequantize(packed, kind).reshape(rows, columns)


def _draw_rows(tensor: Any) -> Any:
    """Return the numbers of evenly spaced rows of a matrix, or of all experts."""
    columns = int(tensor.shape[0])
    rows = int(tensor.n_elements) // columns
    return np.linspace(0, rows - 1, min(rows, math.ceil(SAMPLE_WEIGHTS / columns))).astype(int)


def _read(tensor: Any, rows: Any) -> Any:
    """Return some rows of a matrix in 32 bits."""
    stored = tensor.data.reshape(-1, tensor.data.shape[-1])[rows]
    return gguf.dequantize(stored, tensor.tensor_type).astype(np.float32, copy=False)


def _relative_error(values: Any, right: Any) -> float:
    """Return the root mean square of the difference over that of the right values."""
    size = float(np.square(right, dtype=np.float64).mean())
    error = float(np.square(values - right, dtype=np.float64).mean())
    if not math.isfinite(error):
        return math.inf
    return math.sqrt(error / size) if size else math.sqrt(error)
