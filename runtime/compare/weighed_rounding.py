"""Rounds weights as llama.cpp's quantizer does with an importance matrix."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..llama_cpp import importance
from ..run import Run
from .rounding import Round, round_rows


def prepare(run: Run, path: Path, *, tokens: int) -> tuple[Round, Any]:
    """Compute the importance matrix of a 16-bit file on this many training tokens.

    Return the function that rounds with it, and its entries for llama.cpp, which are valid as long
    as that function is in memory.
    """
    matrix, entries = importance.prepare(run, path, tokens=tokens)
    return partial(round_weighed, matrix), entries


def round_weighed(matrix: Mapping[bytes, Any], values: Any, rows: Any, tensor: Any) -> Any:
    """Round rows as the quantizer of their file does; each expert has its own importance."""
    weights = matrix.get(tensor.name.encode())
    if weights is None:
        return round_rows(values, tensor.tensor_type)
    of_expert = np.ascontiguousarray(weights.reshape(-1, values.shape[1]))
    experts = rows // int(tensor.shape[1])
    out = np.empty_like(values)
    for expert in np.unique(experts):
        mine = experts == expert
        out[mine] = round_rows(values[mine], tensor.tensor_type, of_expert[expert % len(of_expert)])
    return out
