"""The names of torch's dtypes, which `config.json` has under `dtype` or `torch_dtype`."""

from collections.abc import Mapping
from typing import Any, Final, Literal

__all__ = ["DTYPES", "Dtype", "dtype_named", "said_dtype"]

#: The dtypes that the scripts load weights in.
Dtype = Literal["float32", "float16", "bfloat16"]

#: The names of all dtypes in the pinned torch; a test compares them.
DTYPES: Final = frozenset(
    {
        *("float", "float16", "float32", "float64", "bfloat16", "half", "double", "bool", "bit"),
        *("float4_e2m1fn_x2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"),
        *("float8_e5m2fnuz", "float8_e8m0fnu", "complex32", "complex64", "complex128"),
        *("cfloat", "cdouble", "chalf", "int", "short", "long", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "qint8", "qint32", "quint8", "quint4x2"),
        "quint2x4",
        *(f"int{bits}" for bits in range(1, 8)),
        *(f"uint{bits}" for bits in range(1, 8)),
        *(f"bits{bits}" for bits in ("1x8", "2x4", "4x2", "8", "16")),
    }
)
_LOADED: Final[Mapping[str, Dtype]] = {
    **dict.fromkeys(("float32", "float", "F32"), "float32"),
    **dict.fromkeys(("float16", "half", "F16"), "float16"),
    **dict.fromkeys(("bfloat16", "BF16"), "bfloat16"),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "F8_E4M3", "F8_E5M2"), "bfloat16"),
}


def said_dtype(config: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the key of a config's dtype and its value; None if the config has no dtype.

    transformers reads the newer of the two names first.
    """
    given = ((key, config.get(key)) for key in ("dtype", "torch_dtype"))
    return next(((key, value) for key, value in given if value is not None), ("dtype", None))


def dtype_named(name: object) -> Dtype | None:
    """Return the dtype with a name from a config or a safetensors header."""
    return _LOADED.get(name) if isinstance(name, str) else None
