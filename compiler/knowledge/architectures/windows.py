"""Attention within a window of tokens: how wide it is, and in how many layers.

`.ci/windows.py` writes the table, `windows.json`, from the classes of transformers.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ftc.compiler.knowledge.architectures.shape import Shape
from ftc.compiler.knowledge.tables import read_table

_LOCAL = ("sliding", "chunked")  # in the names of layer types


def read_windows(shape: Shape, config: Mapping[str, object]) -> tuple[int, int]:
    """Return how many tokens a window has, and how many layers have one; 0 and 0 for none.

    Without a list of layer types the share of the layers is that of a model of default size. A
    switch that is off by default has its first layers without windows.
    """
    entry = _table().get(shape.architecture)
    if entry is None or ("switch" in entry and not config.get(entry["switch"])):
        return 0, 0
    window, types = config.get(entry["key"], entry["window"]), config.get("layer_types")
    if type(window) is not int or window < 1:
        return 0, 0
    layers = round(entry["share"] * shape.layers)
    if isinstance(types, list) and types:
        layers = sum(any(word in str(name) for word in _LOCAL) for name in types)
    elif "switch" in entry:
        first = config.get("max_window_layers")
        layers -= first if isinstance(first, int) else 0
    layers = min(shape.layers, max(0, layers))
    return (window, layers) if layers else (0, 0)


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    table: Mapping[str, Mapping[str, Any]] = read_table(__name__, "windows.json")
    return table
