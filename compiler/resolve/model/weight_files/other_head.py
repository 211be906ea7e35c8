"""The output head in the weights, and whether the loaded class ties it to the embedding.

transformers ties nothing where the two differ, whatever `config.json` says. Some trainers also save
a tied head, which equals the embedding.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.architectures.module_names import find_module_names
from ftc.compiler.knowledge.multimodal.tied_heads import ties_head
from ftc.compiler.resolve.model.config import Config
from ftc.compiler.resolve.model.weight_files.weights import read_header

__all__ = ["has_other_head", "is_tied_inside"]

_SAMPLES: Final = 16
_SAMPLE_BYTES: Final = 4096
_PREFIX_BYTES: Final = 8  # of a safetensors file: the length of its header


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A tensor in a file: its first byte, length in bytes, sides and dtype."""

    path: Path
    start: int
    length: int
    sides: tuple[int, ...]
    dtype: str


def has_other_head(folder: Path, *, embedding: str, head: str) -> bool:
    """Return whether a folder has both tensors and samples of their bytes differ.

    False where they are of different types, and so cannot be compared as they are.
    """
    places: dict[str, _Place] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        header = read_header(path) or {}
        for name in {embedding, embedding.partition(".")[2], head} & header.keys():
            if (place := _find(path, header, name)) is not None:
                places["head" if name == head else "embedding"] = place
    if len(places) != 2:  # noqa: PLR2004 - the head and the embedding
        return False
    one, other = places["embedding"], places["head"]
    if one.sides != other.sides:
        return True
    return one.dtype == other.dtype and _read(one) != _read(other)


def is_tied_inside(config: Config, names: Collection[str], folder: Path | None) -> bool | None:
    """Return whether a multimodal class ties its head; None if no tensors are known.

    `names` are those of the tensors. In `folder`, if the weights are there, the head is compared
    with the embedding; elsewhere a head of its own counts as another one.
    """
    known, text = find_module_names(config.architecture), read_shape(_unsaid(config.data))
    if config.wrapper is None or known is None or text is None or not names:
        return None
    heads = _end_in(names, known.head)
    ties = ties_head(config.wrapper, config.whole, text_default=text.tied)
    if not heads or not ties:
        return ties
    tables = _end_in(names, known.embedding.rpartition(".")[2])
    if folder is None or len(heads) != 1 or len(tables) != 1:
        return False
    return not has_other_head(folder, embedding=tables[0], head=heads[0])


def _unsaid(config: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key != "tie_word_embeddings"}


def _end_in(names: Collection[str], module: str) -> list[str]:
    """Return the weights of all modules with this name, at any path."""
    return [name for name in names if f".{name}".endswith(f".{module}.weight")]


def _find(path: Path, header: Mapping[str, Any], name: str) -> _Place | None:
    """Return where a tensor is in a file; None where its entry is malformed."""
    entry = header[name]
    try:
        first, last = entry["data_offsets"]
        sides, dtype = tuple(map(int, entry["shape"])), str(entry["dtype"])
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(_PREFIX_BYTES), "little")
        start = _PREFIX_BYTES + length + int(first)
        return _Place(
            path=path, start=start, length=int(last) - int(first), sides=sides, dtype=dtype
        )
    except (KeyError, TypeError, ValueError):
        return None


def _read(place: _Place) -> bytes:
    """Return samples of a tensor's bytes, evenly spread from its first to its last."""
    step = max(1, (place.length - _SAMPLE_BYTES) // (_SAMPLES - 1))
    found = b""
    with place.path.open("rb") as stream:
        for number in range(_SAMPLES):
            offset = min(number * step, max(0, place.length - _SAMPLE_BYTES))
            stream.seek(place.start + offset)
            found += stream.read(min(_SAMPLE_BYTES, place.length))
    return found
