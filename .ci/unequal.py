"""Find tensors that a class has only where a size differs from the width of the model."""

from collections.abc import Iterator, Mapping
from typing import Any

from builds import SKIPPED, Build, Combo, Family

__all__ = ["equal_sizes", "find_unequal"]

_WIDTH = "hidden_size"
_UNEQUAL = "!="


def find_unequal(family: Family, base: Build) -> Iterator[tuple[tuple[str, Combo | None], str]]:
    """Yield such tensors, each with its condition; the builds that lack them take part in the fit.

    ELECTRA projects embeddings that are narrower than the model.
    """
    width, here = family.aliases.get(_WIDTH, _WIDTH), base.tensors()
    for key, value in family.base.items():
        size = family.base.get(width)
        if type(value) is not int or type(size) is not int or value == size:
            continue
        if value < _least(size) or SKIPPED.fullmatch(key):
            continue
        built = family.build(family.base | {key: size})
        there = here if built is None else built.tensors()
        if built is None or set(there) == set(here):
            continue
        if set(there) - set(here):
            raise SystemExit(f"{family.name}: further tensors where {key} is {width}")
        family.builds.append(built)
        for name in set(here) - set(there):
            yield name, f"{key}{_UNEQUAL}{width}"


def _least(size: int) -> int:
    """Return the least number that may be a width: the others count heads, layers or experts."""
    return size // 64


def equal_sizes(entry: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Return equal sizes for the keys that the entry's conditions compare."""
    words = (word for rows in (entry["layer"], entry["model"]) for *_, when in rows
             for word in when.split() if _UNEQUAL in word)  # fmt: skip
    pairs = (word.split(_UNEQUAL) for word in words)
    return {key: base[width] for key, width in pairs}
