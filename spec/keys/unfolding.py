"""Fields that are written as an object: `"optimizer": {"name": "adamw", "lr": 1e-4}`."""

from collections.abc import Mapping
from typing import Any, Final

from ftc.spec.pointer import join, parent, split
from ftc.spec.schema import Schema
from ftc.spec.values.repair import find_repair
from ftc.spec.values.verdict import is_valid

_OWN: Final = frozenset({"name", "type", "value"})


def unfold(
    pointer: str, value: Any, field: Schema, data: Mapping[str, Any]
) -> tuple[dict[str, Any], ...]:
    """Return the patch that writes the field's own value, and the other keys beside it.

    Each is then judged in its section. Empty if no key or several keys are the field itself, if
    its value does not fit, or if a key is there already.
    """
    section, *names = split(pointer)
    beside = data.get(section)
    if not isinstance(value, Mapping) or not isinstance(beside, Mapping) or len(names) != 1:
        return ()
    (name,) = names
    own = [key for key in value if key in {*_OWN, name, *field.get("x-aliases", ())}]
    rest = [key for key in value if key not in own]
    meant = _read(value[own[0]], field) if len(own) == 1 else None
    if meant is None or beside.keys() & set(rest):
        return ()
    above = parent(pointer)
    return (
        {"op": "replace", "path": pointer, "value": meant},
        *({"op": "add", "path": above + join([key]), "value": value[key]} for key in rest),
    )


def unfolds(value: Any, field: Schema) -> bool:
    """Return whether a value is an object with the field's value, perhaps among other keys."""
    names = {*_OWN, *field.get("x-aliases", ())}
    return isinstance(value, Mapping) and bool(names & value.keys())


def _read(value: Any, field: Schema) -> Any:
    """Return the value for the field, or None if it is none."""
    if is_valid(value, field):
        return value
    repair = find_repair(value, field)
    return repair.value if repair is not None and repair.safety == "safe" else None
