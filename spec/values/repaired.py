"""How a repair is told: the variant of its help text, and the fields that it sets."""

import json
from collections.abc import Mapping

from ftc.spec.pointer import dotted, parent
from ftc.spec.values.repair import Repair


def help_of(repair: Repair) -> str:
    """Return the variant of the help text."""
    return "beside" if repair.beside or _is_long(repair) else repair.help


def pairs_of(pattern: str, repair: Repair | None) -> tuple[str, ...]:
    """Return the fields that the repair of a value sets, each with its value.

    `pattern` is the pointer of the value in the long form.
    """
    if repair is None:
        return ()
    values = {pattern: repair.value}
    if _is_long(repair):
        values = {f"{pattern}/{name}": value for name, value in repair.value.items()}
    values |= {f"{parent(pattern)}/{name}": value for name, value in repair.beside.items()}
    return tuple(
        f"{dotted(at)}: {Repair(value=value, help='').shown}" for at, value in values.items()
    )


def _is_long(repair: Repair) -> bool:
    """Return whether a repair is an object that is not shown whole: its keys are then listed."""
    written = json.dumps(repair.value, ensure_ascii=False)
    return isinstance(repair.value, Mapping) and written != repair.shown
