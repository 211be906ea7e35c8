"""The safetensors files of a model's folder: where each tensor is, and copies with other tensors.

The format: eight bytes with the length of a JSON header, the header, then the tensors' bytes.
https://huggingface.co/docs/safetensors
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import torch
from safetensors import safe_open

from ..files import read_json

SINGLE: Final = "model.safetensors"
INDEX: Final = "model.safetensors.index.json"
DTYPES: Final[Mapping[str, torch.dtype]] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
}
_COPIED_BYTES: Final = 2**24  # at a time
_ALIGNED_BYTES: Final = 8  # a header is padded to a multiple
_META: Final = "__metadata__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A tensor of a file: its type as the header names it, its shape, its first byte in the file.

    `size` is in bytes.
    """

    file: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weights of a folder: the names of its files, and what is known of each tensor."""

    folder: Path
    files: tuple[str, ...]
    entries: Mapping[str, Entry]

    @property
    def main_dtype(self) -> str:
        """The type of most numbers."""
        numbers: dict[str, int] = {}
        for entry in self.entries.values():
            numbers[entry.dtype] = numbers.get(entry.dtype, 0) + math.prod(entry.shape)
        return max(numbers, key=lambda dtype: numbers[dtype])

    def read(self, name: str) -> torch.Tensor:
        """Return a tensor, in its type in the file."""
        with safe_open(self.folder / self.entries[name].file, framework="pt") as file:
            found: torch.Tensor = file.get_tensor(name)
        return found


def list_files(folder: Path) -> list[str]:
    """Return the names of the safetensors files that transformers loads; none without any."""
    if (folder / INDEX).is_file():
        index = read_json(folder / INDEX)
        return sorted(set(index["weight_map"].values()))
    return [SINGLE] if (folder / SINGLE).is_file() else []


def read_weights(folder: Path) -> Weights:
    """Return the weights of a folder, as the headers of its files describe them."""
    files = tuple(list_files(folder))
    entries = {}
    for file in files:
        raw, header = _read_header(folder / file)
        for name, entry in header.items():
            if name != _META:
                start, end = entry["data_offsets"]
                entries[name] = Entry(
                    file=file,
                    dtype=entry["dtype"],
                    shape=tuple(entry["shape"]),
                    start=8 + len(raw) + start,
                    size=end - start,
                )
    return Weights(folder=folder, files=files, entries=entries)


def write_file(
    base: Weights,
    file: str,
    into: Path,
    *,
    forms: Mapping[str, tuple[str, tuple[int, ...]]],
    find: Callable[[str], torch.Tensor | None],
) -> int:
    """Write one file of the base into a folder with other tensors; return how many were replaced.

    `forms` has the type and the shape of each tensor that may be replaced, and `find` returns a
    tensor, or None if its bytes are to stay. One tensor is in memory at a time. If every form
    is the base's, the header has the same bytes.
    """
    raw, header = _read_header(base.folder / file)
    names = sorted(header.keys() - {_META}, key=lambda name: base.entries[name].start)
    written, start = dict(header), 0
    for name in names:
        entry = base.entries[name]
        size, (dtype, shape) = entry.size, forms.get(name, (entry.dtype, entry.shape))
        if (dtype, shape) != (entry.dtype, entry.shape):
            size = math.prod(shape) * DTYPES[dtype].itemsize
        offsets = [start, start + size]
        written[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": offsets}
        start += size
    if written != header:
        raw = json.dumps(written, ensure_ascii=False, separators=(",", ":")).encode()
        raw += b" " * (-len(raw) % _ALIGNED_BYTES)
    path, replaced = into / file, 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with (base.folder / file).open("rb") as old, path.open("wb") as new:
        new.write(len(raw).to_bytes(8, "little") + raw)
        for name in names:
            tensor = find(name) if name in forms else None
            if tensor is None:
                _copy(old, new, base.entries[name])
            else:
                new.write(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
                replaced += 1
    return replaced


def _copy(old: BinaryIO, new: BinaryIO, entry: Entry) -> None:
    old.seek(entry.start)
    left = entry.size
    while left and (piece := old.read(min(left, _COPIED_BYTES))):
        new.write(piece)
        left -= len(piece)


def _read_header(path: Path) -> tuple[bytes, dict[str, Any]]:
    with path.open("rb") as file:
        raw = file.read(int.from_bytes(file.read(8), "little"))
    header: dict[str, Any] = json.loads(raw)
    return raw, header
