"""Runs the export.py of a bundle while noise spoils the weights that every file is made from.

    python spoil_files.py TIMES

The noise is of the size that makes the divergence of each type so many times as large.
"""

import ctypes
import math
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import gguf
import llama_cpp
import numpy as np

TIMES = float(sys.argv.pop(1))
#: Relative errors of rounding Gaussian weights.
ERRORS = {"Q8_0": 0.0054, "Q4_K_M": 0.071, "IQ3_S": 0.15}
REAL = llama_cpp.llama_model_quantize


def quantize(source: bytes, path: bytes, settings: Any) -> int:
    """Quantize a copy of the 16-bit file to which noise was added."""
    spoilt = Path(path.decode() + ".spoilt")
    shutil.copyfile(source.decode(), spoilt)
    kind = spoilt.name.removesuffix(".gguf.spoilt").rpartition("-")[2]
    error = ERRORS[kind] * math.sqrt(TIMES - 1)
    draw = np.random.default_rng(0)
    reader = gguf.GGUFReader(spoilt, "r+")
    for tensor in reader.tensors:
        if len(tensor.shape) > 1:
            values = gguf.dequantize(tensor.data, tensor.tensor_type)
            size = np.sqrt(np.square(values).mean())
            values = values + error * size * draw.standard_normal(values.shape, np.float32)
            tensor.data[:] = gguf.quantize(values, tensor.tensor_type)
    reader.data.flush()
    failed: int = REAL(str(spoilt).encode(), path, ctypes.byref(settings._obj))
    spoilt.unlink()
    return failed


llama_cpp.llama_model_quantize = quantize
sys.path.insert(0, str(Path.cwd()))
sys.argv[0] = "export.py"
runpy.run_path("export.py", run_name="__main__")
