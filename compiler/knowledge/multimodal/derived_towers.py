"""Towers whose tensors were derived from the classes of transformers.

`.ci/towers.py` writes the table, `derived_towers.json`. A line of `layer`, `vision_tower` or
`projector` is a tensor: its name, its sides as sums of products of sizes, and the flags on which it
depends (`!flag` for one that is off, `key=word` for a choice).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, Final

from ftc.compiler.knowledge.architectures.expression import evaluate
from ftc.compiler.knowledge.tables import read_table

__all__ = ["DerivedTower", "derived_kind", "derived_modules", "read_derived"]

Linear = tuple[int, int, int]
_Rows = Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedTower:
    """The sizes of a tower: its weights, and the inputs, outputs and count of each linear module.

    `sizes` are the numbers of the config, by their names there.
    """

    parameters: int
    projector_parameters: int
    linears: tuple[Linear, ...]
    projector_linears: tuple[Linear, ...]
    merge: int
    sizes: Mapping[str, int]


def derived_kind(config: Mapping[str, Any]) -> str | None:
    """Return the kind of the tower of a `config.json`; None for one that was not derived."""
    name = config.get("model_type")
    return next((kind for kind, entry in _table().items() if name in entry["named"]), None)


def derived_modules(kind: str) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the names of linear modules by part and place, where `*` is the number of a layer."""
    modules: Mapping[str, Mapping[str, Sequence[str]]] = _table()[kind]["modules"]
    return modules


def read_derived(kind: str, config: Mapping[str, Any], *, hidden: int) -> DerivedTower | None:
    """Return the tower of a `config.json`; None if a size is not a positive integer.

    `hidden` is the width of the language model.
    """
    entry = _table()[kind]
    said = {key: config.get(key, value) for key, value in entry["outer"].items()}
    vision = config["vision_config"]
    said |= {key: _single(vision.get(key, value)) for key, value in entry["defaults"].items()}
    merge = _merge(entry["merge"], said)
    if merge is None or not _are_sizes(said, entry["defaults"]):
        return None
    sizes = {
        **said,
        "out": hidden,
        "joined": merge**2,
        "area": said["patch_size"] ** 2,
        "grid": said.get("image_size", 0) // said["patch_size"],
    }
    layer, tower, projector = (
        _tensors(entry[part], sizes) for part in ("layer", "vision_tower", "projector")
    )
    if layer is None or tower is None or projector is None:
        return None
    layers = said["num_hidden_layers"]
    modules = entry["modules"]
    return DerivedTower(
        parameters=_count(tower) + layers * _count(layer),
        projector_parameters=_count(projector),
        linears=_linears(modules["vision_tower"], layer, layers),
        projector_linears=_linears(modules["projector"], projector, 1),
        merge=merge,
        sizes=said,
    )


def _single(value: object) -> object:
    """Return the side of a square that is written as two equal sides; anything else unchanged."""
    alike = isinstance(value, list) and bool(value) and all(side == value[0] for side in value)
    return value[0] if isinstance(value, list) and alike else value


def _are_sizes(said: Mapping[str, Any], defaults: Mapping[str, Any]) -> bool:
    return all(
        type(said[key]) is type(value) and (type(value) is not int or said[key] > 0)
        for key, value in defaults.items()
    )


def _merge(said: str, sizes: Mapping[str, Any]) -> int | None:
    """Return the number of patches per side that become one token: a size, or its inverse."""
    inverse, _, key = said.rpartition("/")
    value = sizes[key]
    if type(value) not in (int, float) or value <= 0:
        return None
    return int(1 / value) if inverse else int(value)


def _tensors(rows: _Rows, sizes: Mapping[str, Any]) -> dict[str, tuple[int, ...]] | None:
    """Return the sides of the existing tensors."""
    found: dict[str, tuple[int, ...]] = {}
    for name, text, when in rows:
        if not all(_holds(condition, sizes) for condition in when.split()):
            continue
        sides = [evaluate(side, sizes.get) for side in text.split(" x ")]
        known = tuple(side for side in sides if side is not None)
        if len(known) < len(sides):
            return None
        found[name] = known
    return found


def _holds(condition: str, sizes: Mapping[str, Any]) -> bool:
    key, _, word = condition.partition("=")
    if word:
        return bool(sizes[key] == word)
    return bool(sizes[key.lstrip("!")]) is not key.startswith("!")


def _count(tensors: Mapping[str, Sequence[int]]) -> int:
    return sum(map(prod, tensors.values()))


def _linears(
    modules: Mapping[str, Sequence[str]], tensors: Mapping[str, Sequence[int]], layers: int
) -> tuple[Linear, ...]:
    names = [f"{place}.{name}.weight" for place, inner in modules.items() for name in inner]
    sides = [tensors[name] for name in names if name in tensors]
    return tuple((columns, rows, layers) for rows, columns in sides)


_FILE: Final = "derived_towers.json"


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_table(__name__, _FILE)
    return table
