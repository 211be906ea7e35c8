"""Patches that change one field of a section in its short or long form."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal

from ftc.spec.sections import Spec

#: The field that a section's short form stands for.
_SHORT = {"model": "id", "data": "source"}


def patch_field(
    spec: Spec, section: Literal["model", "data", "hardware"], key: str, value: Any
) -> tuple[Mapping[str, Any], ...]:
    """Return the JSON patch that sets a field by replacing its section, short where it was."""
    said = _said(getattr(spec, section), f"/{section}", spec.said)
    said[key] = value
    written: Any = said
    if section in _SHORT and said.keys() == {_SHORT[section]}:
        written = said[_SHORT[section]]
    elif section == "hardware" and said.keys() <= {"gpu", "count"}:
        count = said.get("count", 1)
        written = f"{count}x {said['gpu']}" if isinstance(count, int) and count > 1 else said["gpu"]
    return ({"op": "replace", "path": f"/{section}", "value": written},)


def _said(section: Any, pointer: str, said: frozenset[str]) -> dict[str, Any]:
    """Return the fields of a section that the user wrote, in the long form."""
    kept: dict[str, Any] = {}
    for field in fields(section):
        value, where = getattr(section, field.name), f"{pointer}/{field.name}"
        if is_dataclass(value):
            if inner := _said(value, where, said):
                kept[field.name] = inner
        elif where in said:
            kept[field.name] = list(value) if isinstance(value, tuple) else value
    return kept
