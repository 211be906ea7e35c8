"""The types of quantized folders that vLLM and SGLang load, as compressed-tensors defines them.

The numbers are those of `PRESET_SCHEMES` in its quant_scheme.py (0.17.0). The compute capability is
what vLLM's kernels for the type need (`get_min_capability` of its schemes for compressed-tensors);
for FP8 and NVFP4 it is that of the arithmetic itself. On older devices, vLLM quantizes only
weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ftc.spec.sections import ServedType


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """How a type stores a matrix.

    `group` is how many weights of a row share a scale of `scale_bytes`; None for a scale per row,
    0 for one per matrix. `matrix_bytes` are those of the scales and sides that a matrix has once.
    """

    weight_bits: int
    group: int | None
    scale_bytes: int
    matrix_bytes: int
    tensors: int
    least_capability: float


SERVED: Final[Mapping[ServedType, Served]] = {
    "FP8": Served(
        weight_bits=8, group=0, scale_bytes=2, matrix_bytes=2, tensors=3, least_capability=8.9
    ),
    "FP8_DYNAMIC": Served(
        weight_bits=8, group=None, scale_bytes=2, matrix_bytes=0, tensors=2, least_capability=8.9
    ),
    "W4A16": Served(
        weight_bits=4, group=128, scale_bytes=2, matrix_bytes=16, tensors=3, least_capability=8.0
    ),
    "NVFP4A16": Served(
        weight_bits=4, group=16, scale_bytes=1, matrix_bytes=4, tensors=3, least_capability=8.0
    ),
    "NVFP4": Served(
        weight_bits=4, group=16, scale_bytes=1, matrix_bytes=8, tensors=4, least_capability=10.0
    ),
}
