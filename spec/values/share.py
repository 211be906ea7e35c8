"""Numbers where a share is expected (`x-share`): 100 steps, 500 rows, or 20 for 20%."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isclose
from typing import Any, Final

from ftc.spec.findings.finding import Safety
from ftc.spec.schema import Schema, object_form
from ftc.spec.values.quantity import read_quantity, read_unit
from ftc.spec.values.repair import Repair
from ftc.spec.values.verdict import is_valid

_PERCENT: Final = 100
_PARTS: Final = 3
_NUMBERS: Final = re.compile(r"\d{1,3}(?:\.\d{1,6})?")
_DIGITS: Final = 6
_UNITS: Final = {"steps": ("step",), "rows": ("row", "example", "sample")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A count of rows or steps (the `whole`); `repair` has the share if it can be computed."""

    whole: str
    count: int | float
    repair: Repair | None


def find_counted(value: Any, field: Schema, data: Mapping[str, Any]) -> Counted | None:
    """Return the reading of a number where a share is expected, or None.

    A number of steps is a share where the spec limits the steps. A bare number that is too large
    for a share of the rows may be a percentage.
    """
    whole = field.get("x-share", "")
    count, has_unit = _read_count(value, whole)
    if count is None or count <= 1:
        return None
    share, total = count / _PERCENT, _count_steps(data) if whole == "steps" else 0
    if whole == "steps":
        share = round(count / total, _DIGITS) if total else 1
    is_known = (whole == "steps" or not has_unit) and is_valid(share, field)
    repair = Repair(value=share, help="near", safety="safe" if has_unit else "unsafe")
    return Counted(whole=whole, count=count, repair=repair if is_known else None)


def find_parts(value: Any, field: Schema) -> Repair | None:
    """Read three numbers as shares of the splits: 80/10/10, or [0.8, 0.1, 0.1].

    The first is what the others leave for training. Which of these is the test is certain only if
    both are equal; in other tools the validation comes first.
    """
    form = object_form(field)
    if form is None or "x-remainder" not in form:
        return None
    said = _NUMBERS.findall(value) if isinstance(value, str) else value
    if not isinstance(said, list) or len(said) != _PARTS or not all(map(_is_number, said)):
        return None
    numbers = [float(each) for each in said]
    whole = sum(numbers)
    if not (isclose(whole, 1) or isclose(whole, _PERCENT)) or numbers[0] < max(numbers):
        return None
    validation, test = (round(each / whole, _DIGITS) for each in numbers[1:])
    meant = {"test": test, "validation": validation}
    safety: Safety = "safe" if test == validation else "unsafe"
    return Repair(value=meant, help="near", safety=safety) if is_valid(meant, field) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _read_count(value: Any, whole: str) -> tuple[int | float | None, bool]:
    """Return the number, and whether its unit is written."""
    if isinstance(value, str) and whole and read_unit(value) in _UNITS[whole]:
        return read_quantity(value), True
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (value if whole and is_number else None), False


def _count_steps(data: Mapping[str, Any]) -> int:
    """Return the steps to which a spec limits the training, or 0."""
    training = data.get("training")
    steps = training.get("max_steps") if isinstance(training, Mapping) else None
    return steps if isinstance(steps, int) and steps > 0 else 0
