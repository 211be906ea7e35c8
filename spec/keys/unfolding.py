"""A field that is written as an object of its own: `{"name": "adamw", "lr": 1e-4}`."""

from collections.abc import Mapping
from typing import Any, Final

from ftc.spec.pointer import join, parent, split
from ftc.spec.schema import Schema

_OWN: Final = frozenset({"name", "type", "value"})


def unfold(
    pointer: str, value: Any, field: Schema, data: Mapping[str, Any]
) -> tuple[dict[str, Any], ...]:
    """Return the patch that writes the field's own value, and the other keys beside it.

    Each is then judged in its section. Empty if no key or several keys are the field itself, or if
    a key is there already.
    """
    if not isinstance(value, Mapping) or pointer.count("/") != 2:  # noqa: PLR2004 - in a section
        return ()
    section, name = split(pointer)
    own = [key for key in value if key in {*_OWN, name, *field.get("x-aliases", ())}]
    rest = [key for key in value if key not in own]
    if len(own) != 1 or data[section].keys() & set(rest):
        return ()
    return (
        {"op": "replace", "path": pointer, "value": value[own[0]]},
        *(
            {"op": "add", "path": parent(pointer) + join([key]), "value": value[key]}
            for key in rest
        ),
    )
