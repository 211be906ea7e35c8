"""Weights on disk: counts and sizes from safetensors headers and indexes; no tensor is read."""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.hub.client import Repository
from ftc.compiler.resolve.model.weight_files.samples import find_infinite, find_tables
from ftc.compiler.resolve.model.weight_formats import find_format, list_files, list_foreign

SINGLE_FILE: Final = "model.safetensors"
INDEX_FILE: Final = "model.safetensors.index.json"
#: The format allows 100 MiB; the longest headers that are published take some 10 MiB.
_HEADER_BYTES: Final = 32 * 1024 * 1024
_WEIGHT: Final = ".weight"
_METADATA: Final = "__metadata__"
_LONGEST_SIDE: Final = 2**40
_MOST_SIDES: Final = 8
_FLOATS: Final = ("F64", "F32", "F16", "BF16")
#: Floats that make a quantized matrix together with a tensor of scales, and are weights alone.
_SMALL_FLOATS: Final = ("F8_E4M3", "F8_E5M2")
#: Sides of the matrix of a linear module, and of one with all experts of a layer.
_MATRIX_SIDES: Final = (2, 3)
#: More of the bytes than the numbers of positions and the like, which are not quantized.
_PACKED_SHARE: Final = 0.05
PICKLES: Final = ("pytorch_model*.bin",)
#: The files that transformers looks for, in order.
_READ: Final = (*(SINGLE_FILE, INDEX_FILE, "pytorch_model.bin", "pytorch_model.bin.index.json"),)
#: Weight files with any name, including Meta's and Mistral's, but not adapters.
_ANY_NAME: Final = ("*.safetensors", "consolidated*.pth")
_ADAPTER: Final = "adapter_model*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated:
    """A file that is shorter than its header says: its own bytes, and the header's."""

    name: str
    actual_bytes: int
    expected_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Infinite:
    """A file with infinity or NaN in a tensor."""

    name: str
    tensor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """`parameters` and `dtype` (of most parameters, as safetensors writes it) where they are said.

    `modules` are named by headers or by the index, with `*` for each number in a name. `broken`
    names a file whose header cannot be read, `truncated` a file that ends too soon, and `infinite`
    one that holds NaN. `missing` are the files of the index that are not beside the others.
    `indexed` says that `bytes` is the total of all tensors in an index; `pickled` that there are
    pickles and nothing else. `sides` are those of each tensor of floats, where all headers were
    read. `names` are those of all tensors, where the headers or the index say them. `packed` is the
    type of matrices that hold no floats, or floats of 8 bits with scales, in the headers. `unread`
    are the files, where transformers looks for none of them.
    """

    bytes: int | None
    parameters: int | None
    dtype: str | None
    modules: tuple[str, ...] | None = None
    broken: str | None = None
    truncated: Truncated | None = None
    infinite: Infinite | None = None
    missing: tuple[str, ...] = ()
    indexed: bool = False
    pickled: bool = False
    sides: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    packed: str | None = None
    unread: tuple[str, ...] = ()


def read_weights(folder: Path) -> Weights:
    """Return the facts of the weight files: sharded, single, or pickled (only the size)."""
    single = folder / SINGLE_FILE
    index = None if single.is_file() else _read_object(folder / INDEX_FILE)
    if not single.is_file() and (folder / INDEX_FILE).is_file() and not _is_index(index):
        return Weights(bytes=None, parameters=None, dtype=None, broken=INDEX_FILE)
    names = sorted({str(Path(str(name))) for name in _mapping(index, "weight_map").values()})
    outside = next((name for name in names if Path(name).name != name), None)
    if outside is not None:  # an index that refers to files outside its folder
        return Weights(bytes=None, parameters=None, dtype=None, broken=INDEX_FILE)
    listed = [folder / name for name in names] or sorted(folder.glob("model*.safetensors"))
    listed = [single] if single.is_file() else listed  # transformers then reads no other file
    unread = find_unread(list_files(folder))
    paths = [path for path in listed if path.is_file()]
    if not listed:
        return _read_others(folder, unread)
    counts: Counter[str] = Counter()
    packed: Counter[str] = Counter()
    tensors: list[str] = []
    matrices: list[str] = []
    sides: dict[str, tuple[int, ...]] = {}
    headers: dict[Path, Mapping[str, Any]] = {}
    for path in paths:
        header = read_header(path)
        if (cut := find_truncation(path, header)) is not None:
            return Weights(bytes=None, parameters=None, dtype=None, truncated=cut)
        if header is None:
            return Weights(bytes=None, parameters=None, dtype=None, broken=path.name)
        headers[path] = header
        counts.update(_count(header))
        packed.update(_count_packed(header))
        tensors += [name for name in header if name != _METADATA]
        matrices += [name for name, tensor in header.items() if _is_matrix(tensor)]
        sides.update(_sides(header))
    if len(paths) < len(listed):
        total = _total_bytes(index)
        return Weights(
            bytes=total,
            parameters=None,
            dtype=None,
            modules=_modules(_mapping(index, "weight_map")),
            missing=tuple(path.name for path in listed if path not in paths)
            if _holds(folder)
            else (),
            indexed=total is not None,
            names=tuple(_mapping(index, "weight_map")),
        )
    size = sum(path.stat().st_size for path in paths)
    return Weights(
        bytes=size,
        parameters=counts.total() or None,
        dtype=counts.most_common(1)[0][0] if counts else None,
        modules=_modules(matrices),
        sides=sides,
        names=tuple(tensors),
        unread=unread,
        infinite=_find_infinite(headers, find_tables(sides)),
        packed=_find_packed(packed, tensors, size),
    )


def _is_index(index: Mapping[str, Any] | None) -> bool:
    """Tell whether transformers reads an index: it looks up both keys, and a file for a tensor."""
    return bool(_mapping(index, "weight_map")) and "metadata" in (index or {})


def _holds(folder: Path) -> bool:
    """Return whether a folder has any weights as safetensors; those of an adapter do not count."""
    found = (path.name for path in folder.glob("*.safetensors"))
    return any(not fnmatch(name, _ADAPTER) for name in found)


def _read_others(folder: Path, unread: tuple[str, ...]) -> Weights:
    """Return the facts of a folder without safetensors that transformers reads: of pickles."""
    sizes = [path.stat().st_size for name in PICKLES for path in folder.glob(name)]
    return Weights(
        bytes=sum(sizes) or None,
        parameters=None,
        dtype=None,
        pickled=bool(sizes) and not unread,
        names=_list_tensors([folder / name for name in unread]),
        unread=unread,
    )


def listed_weights(folder: Path, said: Repository) -> Weights:
    """Return the facts of weights from the Hub's description and the index, downloaded or not."""
    index = _read_object(folder / INDEX_FILE)
    total = _total_bytes(index)
    pickles = any(fnmatch(name, pattern) for name in said.files for pattern in PICKLES)
    return Weights(
        bytes=total or _listed_bytes(said.files),
        parameters=said.parameters,
        dtype=said.dtype,
        modules=_modules(_mapping(index, "weight_map")),
        names=tuple(_mapping(index, "weight_map")),
        indexed=bool(total),
        pickled=pickles and not any(name.endswith(".safetensors") for name in said.files),
        unread=find_unread(said.files),
    )


def find_unread(files: Iterable[str]) -> tuple[str, ...]:
    """Return the files of weights, where none of them has a name that transformers looks for.

    Those of other formats count where there are none of safetensors, and those that transformers
    would read in a folder below before them.
    """
    names = sorted(files)
    top = [name for name in names if "/" not in name]
    if not set(top).isdisjoint(_READ):
        return ()
    known = [name for name in top if any(fnmatch(name, each) for each in _ANY_NAME)]
    found = [name for name in known if not fnmatch(name, _ADAPTER) and find_format(name) is None]
    below = [name for name in names if name.rpartition("/")[2] in _READ]
    return tuple(found or below or list_foreign(names))


def _list_tensors(paths: Iterable[Path]) -> tuple[str, ...]:
    """Return the names of the tensors in those of the files that are safetensors."""
    headers = (read_header(path) or {} for path in paths if path.suffix == ".safetensors")
    return tuple(name for header in headers for name in header if name != _METADATA)


def _listed_bytes(files: Mapping[str, int | None]) -> int | None:
    """Return the total size of the weight files in a list; pickles count only without others."""
    for ending in (".safetensors", ".bin"):
        sizes = [size for name, size in files.items() if name.endswith(ending) and size]
        if sizes:
            return sum(sizes)
    return None


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


def find_truncation(path: Path, header: Mapping[str, Any] | None) -> Truncated | None:
    """Return the bytes of a safetensors file that has too few or too many; else None.

    The format: eight bytes with the length of the header, the header, and the tensors, whose last
    offset is the end of the file.
    """
    actual = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(9)
    length = int.from_bytes(start[:8], "little")
    if start[8:] != b"{" or not 0 < length <= _HEADER_BYTES:
        return None
    if header is None:
        expected = 8 + length
    else:
        ends = (_end(tensor) for name, tensor in header.items() if name != _METADATA)
        expected = 8 + length + max(ends, default=0)
    if actual == expected or (header is None and actual > expected):
        return None
    return Truncated(name=path.name, actual_bytes=actual, expected_bytes=expected)


def _modules(tensors: Iterable[str]) -> tuple[str, ...] | None:
    """Return the modules of these weights, with `*` for numbers; None without any."""
    owners = (name.removesuffix(_WEIGHT) for name in tensors if name.endswith(_WEIGHT))
    return tuple(sorted({number_free(owner) for owner in owners})) or None


def number_free(module: str) -> str:
    """Return a module's name with `*` for each number: those of the layers and of the experts."""
    return ".".join("*" if part.isdecimal() else part for part in module.split("."))


def _is_matrix(tensor: object) -> bool:
    """Return whether a tensor has two sides or more, as that of a linear module or convolution."""
    shape = tensor.get("shape") if isinstance(tensor, dict) else None
    return isinstance(shape, list) and len(shape) > 1


def _sides(header: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the sides of each tensor of floats; a packed tensor has others."""
    for name, tensor in header.items():
        if isinstance(tensor, dict) and tensor.get("dtype") in (*_FLOATS, *_SMALL_FLOATS):
            sides = tensor.get("shape")
            if (
                isinstance(sides, list)
                and 0 < len(sides) <= _MOST_SIDES
                and all(map(_is_side, sides))
            ):
                yield name, tuple(sides)


def _end(tensor: object) -> int:
    """Return the offset after a tensor's last byte; 0 where its entry is malformed."""
    offsets = tensor.get("data_offsets") if isinstance(tensor, dict) else None
    end = offsets[-1] if isinstance(offsets, list) and offsets else 0
    return end if type(end) is int else 0


def _count(header: Mapping[str, Any]) -> Counter[str]:
    """Count parameters by dtype."""
    counts: Counter[str] = Counter()
    for name, tensor in header.items():
        if name != _METADATA and isinstance(tensor, dict):
            shape = tensor.get("shape")
            sides = shape if isinstance(shape, list) else ()
            if all(map(_is_side, sides)):
                counts[str(tensor.get("dtype"))] += math.prod(sides[:_MOST_SIDES])
    return counts


def _count_packed(header: Mapping[str, Any]) -> Counter[str]:
    """Count the bytes of matrices by dtype, of those that hold no floats of 16 bits or more."""
    counts: Counter[str] = Counter()
    for tensor in header.values():
        shape = tensor.get("shape") if isinstance(tensor, dict) else None
        if isinstance(shape, list) and len(shape) in _MATRIX_SIDES and "dtype" in tensor:
            offsets = tensor.get("data_offsets")
            start = offsets[0] if isinstance(offsets, list) and offsets else 0
            if tensor["dtype"] not in _FLOATS and type(start) is int:
                counts[str(tensor["dtype"])] += max(0, _end(tensor) - start)
    return counts


def _find_packed(packed: Counter[str], tensors: Iterable[str], size: int) -> str | None:
    """Return the type of packed matrices, if they are more than a small part of all bytes."""
    if not any("scale" in name.rpartition(".")[2] for name in tensors):
        packed = Counter({key: held for key, held in packed.items() if key not in _SMALL_FLOATS})
    return packed.most_common(1)[0][0] if packed.total() > _PACKED_SHARE * size else None


def _find_infinite(
    headers: Mapping[Path, Mapping[str, Any]], tables: Collection[str]
) -> Infinite | None:
    for path, header in headers.items():
        if (tensor := find_infinite(path, header, tables)) is not None:
            return Infinite(name=path.name, tensor=tensor)
    return None


def _is_side(side: object) -> bool:
    return type(side) is int and 0 <= side < _LONGEST_SIDE


def _total_bytes(index: Mapping[str, Any] | None) -> int | None:
    total = _mapping(index, "metadata").get("total_size")
    return total if isinstance(total, int) else None


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
