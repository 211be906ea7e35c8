"""Unusual values that the schema accepts: ftc asks about them instead of applying them."""

import re
from collections.abc import Mapping
from typing import Final

from ftc.spec.values.admission import admits
from ftc.tui.understanding.reading import Change

#: The smallest and the largest value that is applied without a question.
_USUAL: Final[Mapping[str, tuple[float, float]]] = {
    "/training/learning_rate": (1e-8, 0.02),
    "/training/epochs": (0.01, 100),
    "/training/global_batch": (1, 65_536),
    "/training/warmup": (0, 10_000),
    "/training/weight_decay": (0, 1),
    "/method/rank": (1, 2048),
    "/method/alpha": (1, 8192),
    "/method/dropout": (0, 0.6),
    "/data/max_length": (16, 2_000_000),
    "/data/splits/test": (0, 0.9),
    "/data/splits/validation": (0, 0.9),
}

_EPOCHS: Final = "/training/epochs"
#: "robust DPO, eps .2": an epsilon, unless it is a number of epochs.
_EPSILON: Final = re.compile(r"(?i)eps\b")


def is_doubtful(change: Change) -> bool:
    """Return whether a number is so unusual that it may have been misread."""
    value = change.value
    if change.pointer == _EPOCHS and _EPSILON.match(change.words) and value < 1:
        return True
    if change.pointer not in _USUAL or isinstance(value, bool):
        return False
    if not isinstance(value, int | float) or not admits(change.pointer, value):
        return False
    low, high = _USUAL[change.pointer]
    return not low <= value <= high
