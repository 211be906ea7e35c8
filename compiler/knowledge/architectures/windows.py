"""Sliding-window attention: its width, and the number of layers that have it.

`.ci/windows.py` writes the table, `windows.json`, from the classes of transformers.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ftc.compiler.knowledge.architectures.shape import Shape
from ftc.compiler.knowledge.tables import read_table

_LOCAL = ("sliding", "chunked")  # in the names of layer types


def read_windows(shape: Shape, config: Mapping[str, object]) -> tuple[int, int]:
    """Return the tokens of a window, and the number of layers with one; 0 and 0 for none.

    Without a list of layer types, the share of these layers is that of a model of default size. If
    the class has a switch for windows, the first `max_window_layers` layers have none.
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
