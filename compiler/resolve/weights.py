"""Weights on disk: counts and sizes from safetensors headers and indexes, never from tensors."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

INDEX_FILE: Final = "model.safetensors.index.json"
#: The format allows 100 MiB; the longest headers that are published take some 10 MiB.
_HEADER_BYTES: Final = 32 * 1024 * 1024
_LONGEST_SIDE: Final = 2**40
_MOST_SIDES: Final = 8
PICKLES: Final = ("pytorch_model*.bin", "*.pth", "*.pt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """`parameters` and `dtype` (of most parameters, as safetensors writes it) where headers say.

    `broken` names a file whose header cannot be read, `missing` a shard that is not there;
    `pickled` says that there are pickles and nothing else.
    """

    bytes: int | None
    parameters: int | None
    dtype: str | None
    broken: str | None = None
    missing: str | None = None
    pickled: bool = False


def read_weights(folder: Path) -> Weights:
    """Look at the model's weight files: sharded, single, or pickled (whose size alone is read)."""
    index = _read_object(folder / INDEX_FILE)
    names = sorted({str(name) for name in _mapping(index, "weight_map").values()})
    outside = next((name for name in names if Path(name).name != name), None)
    if outside is not None:  # an index that points anywhere but beside itself
        return Weights(bytes=None, parameters=None, dtype=None, broken=INDEX_FILE)
    paths = [folder / name for name in names] or sorted(folder.glob("model*.safetensors"))
    missing = next((path.name for path in paths if not path.is_file()), None)
    if missing is not None:
        total = _mapping(index, "metadata").get("total_size")
        size = total if isinstance(total, int) else None
        return Weights(bytes=size, parameters=None, dtype=None, missing=missing)
    if not paths:
        sizes = [path.stat().st_size for name in PICKLES for path in folder.glob(name)]
        size = sum(sizes) or None
        return Weights(bytes=size, parameters=None, dtype=None, pickled=bool(sizes))
    counts: Counter[str] = Counter()
    for path in paths:
        header = read_header(path)
        if header is None:
            return Weights(bytes=None, parameters=None, dtype=None, broken=path.name)
        counts.update(_count(header))
    return Weights(
        bytes=sum(path.stat().st_size for path in paths),
        parameters=counts.total() or None,
        dtype=counts.most_common(1)[0][0] if counts else None,
    )


def read_header(path: Path) -> Mapping[str, Any] | None:
    """Return the header of a safetensors file: eight bytes of length, then JSON; None if broken."""
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 0 < length <= min(_HEADER_BYTES, path.stat().st_size - 8):
            return None
        text = stream.read(length)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return header if isinstance(header, dict) else None


def _count(header: Mapping[str, Any]) -> Counter[str]:
    """Count parameters by dtype."""
    counts: Counter[str] = Counter()
    for name, tensor in header.items():
        if name != "__metadata__" and isinstance(tensor, dict):
            shape = tensor.get("shape")
            sides = shape if isinstance(shape, list) else ()
            if all(type(side) is int and 0 <= side < _LONGEST_SIDE for side in sides):
                counts[str(tensor.get("dtype"))] += math.prod(sides[:_MOST_SIDES])
    return counts


def _read_object(path: Path) -> Mapping[str, Any] | None:
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _mapping(data: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    value = (data or {}).get(key)
    return value if isinstance(value, dict) else {}
