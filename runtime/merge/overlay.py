"""Puts trained tensors into copies of the base model's files, and leaves the rest unchanged.

transformers drops tensors that its class does not compute, such as heads that predict several
tokens or a vision tower, and it writes another config.json than the one that it read. The files of
a merged model are therefore the base's, byte for byte, apart from the tensors that training
changed.
"""

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightRenaming, rename_source_key

from ..files import read_json, write_json
from ..models.output_head import find_head
from .safetensors_files import DTYPES, INDEX, Weights, read_weights, write_file
from .trained_config import TEXT, write_config, write_generation


class NoPlaceError(LookupError):
    """The base has no tensor for a trained one; the message is the name of that tensor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is known of the trained model besides its tensors.

    `before` and `after` are the settings of the base and of the trained model as transformers reads
    them, and `dtype` is the 16-bit type of the result, such as "bfloat16". `embedding` and `head`
    are the names of their tensors in the model, one tensor if `is_tied`, with `rows` rows now.
    `rename` returns the name that a tensor in a file gets when it is loaded.
    """

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    dtype: str
    embedding: str
    head: str
    rows: int
    is_tied: bool
    rename: Callable[[str], str] = str


def read_change(model: Any, before: Mapping[str, Any], *, dtype: str) -> Change:
    """Return what is known of a model in memory; `before` are the settings of its base."""
    embedding, head = model.get_input_embeddings().weight, find_head(model).weight
    names = [*model.named_parameters(remove_duplicate=False)]
    after = model.config.to_dict()
    if TEXT in before and TEXT not in after:  # the text model of a wrapper was loaded alone
        after = {**before, TEXT: after}
    return Change(
        before=before,
        after=after,
        dtype=dtype,
        embedding=next(name for name, weight in names if weight is embedding),
        head=next(name for name, weight in reversed(names) if weight is head),
        rows=len(embedding),
        is_tied=embedding is head,
        rename=_read_renaming(model),
    )


def _read_renaming(model: Any) -> Callable[[str], str]:
    """Return how transformers renames a tensor of a file when it loads this model.

    Tensors that it also splits, joins or transposes keep their names.
    """
    found = [way for way in get_model_conversion_mapping(model) if isinstance(way, WeightRenaming)]
    return lambda name: str(rename_source_key(name, found, [])[0])


def overlay(saved: Path, base: Path, into: Path, change: Change) -> tuple[int, int]:
    """Write the base's weights and settings, with the changes of a saved model.

    Tensors of the base's main type are written in the 16-bit type of the result; a tensor of
    another type keeps it. Returns how many tensors differ from the base's, and how many there are.
    Raises NoPlaceError.
    """
    trained, old = read_weights(saved), read_weights(base)
    places = find_places(trained, old, change)
    wanted = next(name for name, known in DTYPES.items() if known == getattr(torch, change.dtype))
    is_cast = old.main_dtype != wanted
    types = {place: old.entries[place].dtype for place in places}
    types |= {place: wanted for place, kind in types.items() if kind == old.main_dtype}
    forms = {place: (types[place], trained.entries[name].shape) for place, name in places.items()}

    def find(place: str) -> torch.Tensor | None:
        new, before = trained.read(places[place]), old.read(place)
        is_same = new.shape == before.shape and torch.equal(new, before.to(new.dtype))
        if is_same and types[place] == old.entries[place].dtype:
            return None
        return (before if is_same else new).to(DTYPES.get(types[place], before.dtype))

    replaced = sum(write_file(old, file, into, forms=forms, find=find) for file in old.files)
    _write_index(old, into)
    write_config(base, into, change.before, change.after, dtype=change.dtype, is_cast=is_cast)
    write_generation(saved, base, into)
    return replaced, len(old.entries)


# -----------------------------------------------------------------------------
# Which tensor of the base a saved one is


def find_places(saved: Weights, base: Weights, change: Change) -> dict[str, str]:
    """Return the name of the saved tensor for each tensor of the base that has one.

    Both names are the same, or loading gives both the same name: on saving, transformers undoes a
    renaming also where the base needed none. Or the names begin differently: a text model in a
    wrapper begins with `model.language_model.` instead of `model.`, and some bases leave out the
    first part. Shapes are equal, except for more rows of the embedding and the head. Raises
    NoPlaceError for a saved tensor without a place.
    """

    def fits(name: str, place: str) -> bool:
        new, old = saved.entries[name].shape, base.entries[place].shape
        return new == old or (new[1:] == old[1:] and new[0] == change.rows > old[0])

    found = {name: name for name in saved.entries if name in base.entries and fits(name, name)}
    loaded = {change.rename(place): place for place in base.entries if place not in found}
    for name in saved.entries:
        place = loaded.get(change.rename(name))
        if name not in found and place is not None and fits(name, place):
            found[place] = name
    known = set(found.values())
    missing = [name for name in saved.entries if name not in known]
    while missing:
        free, best = base.entries.keys() - found.keys(), dict[str, str]()
        for begins, instead in _list_beginnings(missing[0], free):
            names = [name for name in missing if name.startswith(begins)]
            moved = {instead + name.removeprefix(begins): name for name in names}
            moved = {place: name for place, name in moved.items() if place in free}
            moved = {place: name for place, name in moved.items() if fits(name, place)}
            if len(moved) > len(best) and missing[0] in moved.values():
                best = moved
        if not best:
            raise NoPlaceError(missing[0])
        found |= best
        missing = [name for name in missing if name not in best.values()]
    if change.is_tied:
        found |= _find_second(found, base, change)
    return found


def _list_beginnings(name: str, places: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the beginning of a name, and the beginning of each place that ends like the name.

    At most two parts of a name are replaced, and at least two stay.
    """
    parts = name.split(".")
    for count in range(min(2, len(parts) - 2) + 1):
        end = ".".join(parts[count:])
        for place in sorted(places):
            if place == end or place.endswith(f".{end}"):
                yield name.removesuffix(end), place.removesuffix(end)


def _find_second(found: Mapping[str, str], base: Weights, change: Change) -> dict[str, str]:
    """Return the base's second name of the embedding: the head's, after the same first parts."""
    end = ".".join(change.embedding.split(".")[-2:])
    names = (place for place in found if place == end or place.endswith(f".{end}"))
    embedding = min(names, key=lambda place: place.count("."))
    parts = embedding.split(".")
    heads = (".".join([*parts[:count], change.head]) for count in range(len(parts)))
    free = base.entries.keys() - found.keys()
    return {head: found[embedding] for head in heads if head in free}


# -----------------------------------------------------------------------------
# Settings


def _write_index(old: Weights, into: Path) -> None:
    if not (old.folder / INDEX).is_file():
        return
    shutil.copyfile(old.folder / INDEX, into / INDEX)
    index, size = read_json(into / INDEX), _size(read_weights(into))
    if size != _size(old) and "total_size" in index.get("metadata", {}):
        index["metadata"]["total_size"] = size
        write_json(into / INDEX, index)


def _size(weights: Weights) -> int:
    return sum(entry.size for entry in weights.entries.values())
