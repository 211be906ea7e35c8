"""Converts absolute numbers to the shares in a spec: warm-up steps, learning rate floor."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.numbers import as_written

#: The field of the share, the field of the whole, and the range of absolute numbers.
_SHARES: Final = (
    ("/training/warmup", "/training/max_steps", (1, float("inf"))),
    ("/training/learning_rate_floor", "/training/learning_rate", (0, 0.002)),
)


def divide_by_whole(
    said: Sequence[Change | Choice], draft: Mapping[str, Any], planned: Mapping[str, Any]
) -> list[Change | Choice]:
    """Return the values, with absolute numbers as shares of their wholes, if known."""
    numbers = {each.pointer: each.value for each in said if isinstance(each, Change)}
    wholes = {
        pointer: (numbers.get(whole) or value_at(draft, whole) or planned.get(whole), bounds)
        for pointer, whole, bounds in _SHARES
    }
    return [
        _divided(each, *wholes[each.pointer])
        if isinstance(each, Change) and each.pointer in wholes
        else each
        for each in said
    ]


def _divided(change: Change, whole: Any, bounds: tuple[float, float]) -> Change:
    value = change.value
    numeric = isinstance(value, int | float) and isinstance(whole, int | float)
    if not numeric or "%" in change.words or not bounds[0] < value < bounds[1]:
        return change
    return replace(change, value=as_written(float(f"{value / whole:.4g}")))
