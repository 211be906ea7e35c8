"""Samples of the tensors in safetensors files, and those that hold NaN or infinity."""

import re
import sys
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["Place", "find_infinite", "find_place", "find_tables", "read_samples"]

_SAMPLES: Final = 16
_SAMPLE_BYTES: Final = 4096
_PREFIX_BYTES: Final = 8  # of a safetensors file: the length of its header
_WIDEST: Final = 8  # bytes of a float
#: Of a float's 16-bit words, which one has the exponent, and its bits: infinity and NaN have all.
_EXPONENTS: Final = {
    "BF16": (1, 0x7F80),
    "F16": (1, 0x7C00),
    "F32": (2, 0x7F80),
    "F64": (4, 0x7FF0),
}
#: Sides of the matrix of a linear module, and of one with all experts of a layer.
_MATRIX_SIDES: Final = (2, 3)
_MOST_MATRICES: Final = 8  # that are read in the layers of a file
_FEW_BYTES: Final = 512
_TABLE_SAMPLES: Final = 64  # of a matrix outside of the layers
_EMBEDDING: Final = re.compile(r"(.*emb(?!.*out).*|wte)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A tensor in a file: its first byte, length in bytes, sides and dtype."""

    path: Path
    start: int
    length: int
    sides: tuple[int, ...]
    dtype: str


def find_place(path: Path, header: Mapping[str, Any], name: str) -> Place | None:
    """Return where a tensor is in a file; None where its entry is malformed."""
    entry = header[name]
    try:
        first, last = entry["data_offsets"]
        sides, dtype = tuple(map(int, entry["shape"])), str(entry["dtype"])
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(_PREFIX_BYTES), "little")
        start = _PREFIX_BYTES + length + int(first)
        return Place(
            path=path, start=start, length=int(last) - int(first), sides=sides, dtype=dtype
        )
    except (KeyError, TypeError, ValueError):
        return None


def read_samples(place: Place, *, samples: int = _SAMPLES, size: int = _SAMPLE_BYTES) -> bytes:
    """Return samples of a tensor's bytes, evenly spread from its first to its last."""
    end = max(0, place.length - size)
    step = end // (samples - 1) // _WIDEST * _WIDEST  # each sample begins with a whole number
    found = b""
    with place.path.open("rb") as stream:
        for offset in (*(step * number for number in range(samples - 1)), end):
            stream.seek(place.start + offset)
            found += stream.read(min(size, place.length))
    return found


def find_infinite(path: Path, header: Mapping[str, Any], tables: Collection[str]) -> str | None:
    """Return a matrix with infinity or NaN, as a run that diverged saves them; None without any.

    Samples of some matrices of the layers are read, and of all outside of them. `tables` are the
    largest ones of those in all files: the embedding, and the output head where it has its own.
    """
    matrices = sorted(name for name, tensor in header.items() if _is_matrix(tensor))
    inner = [name for name in matrices if _is_in_layer(name)]
    for name in inner[:: max(1, len(inner) // _MOST_MATRICES)]:
        if any(_sample(path, header, name, samples=3, size=_FEW_BYTES)):
            return name
    for name in matrices:
        if not _is_in_layer(name):
            found = _sample(path, header, name, samples=_TABLE_SAMPLES, size=_SAMPLE_BYTES)
            if all(found) if _is_read_by_rows(name, tables) else any(found):
                return name
    return None


def find_tables(sides: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    """Return the matrices outside of the layers with the most rows."""
    outer = {name: each for name, each in sides.items() if len(each) in _MATRIX_SIDES}
    outer = {name: each for name, each in outer.items() if not _is_in_layer(name)}
    most = max((each[0] for each in outer.values()), default=0)
    return tuple(name for name, each in outer.items() if each[0] == most)


def _is_read_by_rows(name: str, tables: Collection[str]) -> bool:
    """Return whether a matrix is an embedding beside a head: rows that no text has may be anything.

    A head gives each token its chance, so that any of its rows makes the loss NaN.
    """
    parts = name.removesuffix(".weight").rpartition(".")[2]
    return name in tables and len(tables) > 1 and _EMBEDDING.fullmatch(parts) is not None


def _sample(
    path: Path, header: Mapping[str, Any], name: str, *, samples: int, size: int
) -> list[bool]:
    """Return for each sample of a tensor whether it has infinity or NaN; [False] if malformed."""
    place = find_place(path, header, name)
    if place is None or place.length <= 0:
        return [False]
    held = read_samples(place, samples=samples, size=size)
    part = min(size, place.length)
    return [
        _has_infinite(held[start : start + part], place.dtype)
        for start in range(0, len(held), part)
    ]


def _is_matrix(tensor: object) -> bool:
    """Return whether a tensor is a matrix of floats."""
    if not isinstance(tensor, dict) or tensor.get("dtype") not in _EXPONENTS:
        return False
    sides = tensor.get("shape")
    return isinstance(sides, list) and len(sides) in _MATRIX_SIDES


def _is_in_layer(name: str) -> bool:
    """Return whether a tensor is in a layer, which has a number in its name."""
    return any(part.isdecimal() for part in name.split("."))


def _has_infinite(held: bytes, dtype: str) -> bool:
    """Return whether bytes of floats have one that is infinity or NaN."""
    step, exponent = _EXPONENTS[dtype]
    words = array("H", held[: len(held) // 2 * 2])
    if sys.byteorder == "big":
        words.byteswap()
    return any(word & exponent == exponent for word in words[step - 1 :: step])
