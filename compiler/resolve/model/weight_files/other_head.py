"""The output head in the weights, and whether the loaded class ties it to the embedding.

transformers ties nothing where the two differ, whatever `config.json` says. Some trainers also save
a tied head, which equals the embedding.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.architectures.module_names import find_module_names
from ftc.compiler.knowledge.multimodal.tied_heads import ties_head
from ftc.compiler.resolve.model.config import Config
from ftc.compiler.resolve.model.weight_files.samples import Place, find_place, read_samples
from ftc.compiler.resolve.model.weight_files.weights import read_header

__all__ = ["has_other_head", "is_tied_inside"]


def has_other_head(folder: Path, *, embedding: str, head: str) -> bool:
    """Return whether a folder has both tensors and samples of their bytes differ.

    False where they are of different types, and so cannot be compared as they are.
    """
    places: dict[str, Place] = {}
    for path in sorted(folder.glob("model*.safetensors")):
        header = read_header(path) or {}
        for name in {embedding, embedding.partition(".")[2], head} & header.keys():
            if (place := find_place(path, header, name)) is not None:
                places["head" if name == head else "embedding"] = place
    if len(places) != 2:  # noqa: PLR2004 - the head and the embedding
        return False
    one, other = places["embedding"], places["head"]
    if one.sides != other.sides:
        return True
    return one.dtype == other.dtype and read_samples(one) != read_samples(other)


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
