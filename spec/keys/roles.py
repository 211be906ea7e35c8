"""Handles column names as keys of `data.columns` or `data`: `query`, `document`."""

import re
from collections.abc import Mapping
from typing import Any, Final

from ftc.spec.columns.usual_names import find_roles
from ftc.spec.keys.moving import Meant, read
from ftc.spec.pointer import parent
from ftc.spec.schema import fields_by_pointer, object_form

_DATA: Final = re.compile(r"/data(?:/sources/\d+)?")
_COLUMNS: Final = "columns"


def find_role(
    key: str, section: Mapping[str, Any], pointer: str, data: Mapping[str, Any]
) -> Meant | None:
    """Return the role that a key of `data.columns` means, given the other keys, or None.

    It is certain if rows of one form have a role for each of the keys.
    """
    above, _, name = pointer.rpartition("/")
    if name != _COLUMNS or _DATA.fullmatch(above) is None:
        return None
    return _role(key, list(section), pointer, data)


def find_role_above(
    key: str, section: Mapping[str, Any], pointer: str, data: Mapping[str, Any]
) -> Meant | None:
    """Return the role that a key of `data` means if it belongs in `data.columns`, or None."""
    if _DATA.fullmatch(pointer) is None or not isinstance(section[key], str):
        return None
    columns = section.get(_COLUMNS, {})
    form = object_form(fields_by_pointer()["/data"].schema)
    known = form["properties"] if form is not None else {}
    beside = [other for other, value in section.items() if isinstance(value, str)]
    names = [other for other in beside if other not in known]
    if not isinstance(columns, Mapping):
        return None
    return _role(key, [*columns, *names], f"{pointer}/{_COLUMNS}", data)


def _role(key: str, keys: list[str], pointer: str, data: Mapping[str, Any]) -> Meant | None:
    stated, kind = read(data, f"{parent(pointer)}/form"), read(data, "/objective/type")
    form = stated if isinstance(stated, str) else "auto"
    objective = kind if isinstance(kind, str) else "sft"
    found = find_roles(keys, form=form, objective=objective)
    guess = found or find_roles(keys, objective=objective) or find_roles([key], objective=objective)
    if key not in guess:
        return None
    return Meant(pointer=f"{pointer}/{guess[key]}", safety="safe" if found else "unsafe")
