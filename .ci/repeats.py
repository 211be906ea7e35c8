"""Find how often a token goes through each layer of a class."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from builds import Family, find_stacks, layer_key, own_names
from fitting import fit

__all__ = ["find_passes"]

Calls = tuple[int, ...]


def find_passes(family: Family, keys: Sequence[str]) -> list[str]:
    """Return the number of passes through each stack of layers, as products of keys.

    It is empty where a token goes through each layer once, and where the class does not run on the
    meta device.
    """
    first = _count(family, family.base)
    if first is None or set(first) == {1}:
        return []
    seen: list[tuple[Mapping[str, Any], Calls]] = [(family.base, first)]
    for key in keys:
        for times in (2, 3):
            given = family.base | {key: family.base[key] * times}
            if (calls := _count(family, given)) is not None:
                seen.append((given, calls))
    found = [fit([(given, calls[n]) for given, calls in seen], keys) for n in range(len(first))]
    if None in found:
        raise SystemExit(f"{family.name}: no fit for its passes {first}")
    return [text for text in found if text is not None]


def _count(family: Family, given: Mapping[str, Any]) -> Calls | None:
    """Return how often a forward pass calls the layers of each stack; None if it does not run."""
    model = family.model(given)
    if model is None:
        return None
    layers = given[layer_key(family.aliases)] * int(family.said.get("copies", 1))
    paths = {name: path for path, name in own_names(model, family.inside(model)).items()}
    stacks = find_stacks(family.name, paths, layers)
    calls: Counter[str] = Counter()
    for name in (f"{stack}{n}" for stack in stacks for n in range(layers // len(stacks))):
        model.get_submodule(paths[name]).register_forward_pre_hook(
            lambda *_, name=name: calls.update([name])
        )
    try:
        with torch.no_grad(), torch.device("meta"):
            model(input_ids=torch.ones((1, 4), dtype=torch.long))
    except Exception:  # noqa: BLE001 - on the meta device a class may stop for any reason
        return None
    each = [{calls[f"{stack}{n}"] for n in range(layers // len(stacks))} for stack in stacks]
    if any(0 in counts for counts in each):  # something else runs what is in these layers
        return None
    if any(len(counts) > 1 for counts in each):
        raise SystemExit(f"{family.name}: its layers run {each} times")
    return tuple(counts.pop() for counts in each)
