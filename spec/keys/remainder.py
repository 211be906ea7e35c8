"""The key of a section that is what its other fields leave (`x-remainder`): the training split."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as field_of
from typing import Any

from ftc.spec.findings.finding import Safety
from ftc.spec.schema import Schema
from ftc.spec.values.admission import admits
from ftc.spec.values.quantity import read_quantity

_DIGITS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """The shares `of` the other fields; `field` is one that is set by what the key leaves for it.

    `value` is that share. `counted` has the shares where all are numbers of rows. `safety` is that
    of the fix.
    """

    of: tuple[str, ...]
    field: str
    value: float
    safety: Safety
    counted: Mapping[str, float] = field_of(default_factory=dict)


def find_remainder(
    key: str, section: Mapping[str, Any], pointer: str, schema: Schema
) -> Remainder | None:
    """Return what a key says about the other fields of its section, or None."""
    known = schema.get("x-remainder", {"keys": (), "of": ()})
    if key.casefold() not in known["keys"]:
        return None
    names = tuple(known["of"])
    share: Any = section[key]
    if isinstance(share, str):
        share = read_quantity(share)
    stated = [name for name in names if name in section]
    values = [
        section.get(name, schema["properties"][name]["default"])
        for name in (stated if len(stated) + 1 == len(names) else names)
    ]
    if not all(isinstance(each, int | float) for each in (share, *values)):
        return Remainder(of=names, field="", value=0, safety="unsafe")
    numbers = {name: section[name] for name in stated}
    if numbers and all(number >= 1 for number in (share, *numbers.values())):
        rows = share + sum(numbers.values())
        counted = {name: round(number / rows, _DIGITS) for name, number in numbers.items()}
        if all(admits(f"{pointer}/{name}", value) for name, value in counted.items()):
            return Remainder(of=names, field="", value=0, safety="unsafe", counted=counted)
    left = round(1 - share - sum(values), _DIGITS)
    free = next((name for name in names if name not in section), "")
    if len(stated) + 1 == len(names) and admits(f"{pointer}/{free}", left):
        return Remainder(of=names, field=free, value=left, safety="safe")
    return Remainder(of=names, field="", value=0, safety="unsafe" if left else "safe")
