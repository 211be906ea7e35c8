"""The module names in transformers' models: of the layers and of the modules in them.

They come from the derived table, whose entries have the names of all tensors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ftc.compiler.knowledge.architectures.derived import Entry, derived_table, linear_keys

_MATRIX_SIDES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleNames:
    """`layers` is the name of the list of layers; `linears` maps a kind of linear to its name.

    `experts` are the tensors of a layer's experts, which are not modules: (experts, rows, columns).
    """

    layers: str
    linears: Mapping[str, str]
    embedding: str
    head: str
    experts: tuple[str, ...]

    def linear(self, kind: str, layer: int) -> str:
        """Return the full name of one linear module, for matching with a regular expression."""
        return f"{self.layers}.{layer}.{self.linears[kind]}"


def find_module_names(architecture: str) -> ModuleNames | None:
    """Return the names of an architecture, or None if it is not in the table."""
    entry = derived_table().get(architecture)
    return None if entry is None else _derived_names(entry)


def _derived_names(entry: Entry) -> ModuleNames:
    experts = (
        name
        for name, sides, _ in entry["layer"]
        if len(sides.split(" x ")) > _MATRIX_SIDES and ("expert" in name or "_linear" in name)
    )
    return ModuleNames(
        layers=entry["stack"],
        linears={key: module for module, key in linear_keys(entry).items()},
        embedding=entry["embedding"].removesuffix(".weight"),
        head=entry["head"].removesuffix(".weight"),
        experts=tuple(dict.fromkeys(experts)),
    )
