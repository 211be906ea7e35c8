"""The long form: short forms expanded and defaults filled in, and pointers back."""

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any, Final

from ftc.spec.pointer import join, split
from ftc.spec.schema import Schema, branches, fields, find_unmet, object_form, read_schema
from ftc.spec.values.expectation import types_of
from ftc.spec.values.quantity import read_word

#: A number of GPUs and their name. A long number with a word beside it is a name: `7900 XTX`.
_COUNTED: Final = re.compile(
    r"\s*(?!\d{3,4}\s+[xX][A-Za-z])([1-9][0-9]{0,3})\s*[xX\u00d7*]\s*(.+)", re.DOTALL
)
_COUNTED_LAST: Final = re.compile(r"(.+?)\s+[xX\u00d7*]\s*([1-9][0-9]{0,3})\s*", re.DOTALL)
FOR_READERS: Final = frozenset({"$schema", "ftc"})


def normalise(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the long form with every default; `data` must be valid, sections may be missing.

    A required section that is missing stays missing. `$schema` and `ftc` are left out.
    """
    long = {}
    for section, schema in read_schema()["properties"].items():
        if section in FOR_READERS or (section not in data and "default" not in schema):
            continue
        long[section] = _complete(section, data.get(section, schema.get("default")), schema)
    return long


def lengthen(section: str, written: Any) -> Any:
    """Return the object that the short form of a section stands for, without defaults.

    So are the short forms inside an object. A value that is not a short form is returned unchanged.
    """
    schema = read_schema()["properties"].get(section, {})
    if isinstance(written, Mapping):
        inner = object_form(schema) or {}
        return {
            key: _lengthen_field(value, inner.get("properties", {}).get(key, {}))
            for key, value in written.items()
        }
    if "x-short" not in schema:
        return written
    if section == "hardware" and isinstance(written, str):
        return _read_hardware(written)
    return {schema["x-short"]: written}


def leave_unread(long: Mapping[str, Any], written: frozenset[str]) -> frozenset[str]:
    """Give each field that this spec does not read its default; return what else was written.

    So a field that `x-when` excludes reaches no plan, rule or template.
    """

    def look(pointer: str) -> Any:
        return reduce(getitem, split(pointer), long)

    for field in fields():
        if any(find_unmet(field.schema, look)):
            *above, last = split(field.pointer)
            section: Any = look(join(above))
            section[last] = field.schema["default"]
            inside = f"{field.pointer}/"
            written = frozenset(each for each in written if not f"{each}/".startswith(inside))
    return written


def said(data: Mapping[str, Any]) -> frozenset[str]:
    """Return the pointers, in the long form, of everything that the user wrote."""
    long = {section: lengthen(section, written) for section, written in data.items()}
    return frozenset(_pointers(long, ""))


def written_pointer(data: Any, pointer: str) -> str:
    """Return the pointer, in the written form, of a value of the long form.

    Inside a short form, a pointer can only refer to the section or to an item of its list.
    """
    parts = split(pointer)
    if len(parts) <= 1 or not isinstance(data, Mapping):
        return pointer
    section, key, *rest = parts
    short = read_schema()["properties"].get(section, {}).get("x-short")
    if short is None or section not in data:
        return pointer
    if isinstance(data[section], Mapping):
        is_short = (
            rest and _has_short_form(section, key) and isinstance(data[section].get(key), str)
        )
        return join([section, key]) if is_short else pointer
    if key == short:
        return join([section, *rest])
    return pointer if key.isdecimal() else join([section])


def _lengthen_field(written: Any, schema: Schema) -> Any:
    """Return the object that a field's short form stands for; any other value as it is."""
    return (
        {schema["x-short"]: written}
        if "x-short" in schema and isinstance(written, str)
        else written
    )


def _has_short_form(section: str, key: str) -> bool:
    """Return whether a field inside a section has a short form."""
    inner = object_form(read_schema()["properties"][section]) or {}
    return "x-short" in inner.get("properties", {}).get(key, {})


def _complete(section: str, written: Any, schema: Schema) -> Any:
    inner = object_form(schema)
    if inner is None:
        return _as_whole_number(written, schema)
    long = lengthen(section, written)
    return {
        key: _complete("", long.get(key, field.get("default")), field)
        for key, field in inner["properties"].items()
    }


def _as_whole_number(written: Any, schema: Schema) -> Any:
    """Return 8 for 8.0 if the field is an integer: JSON Schema treats both as the same number."""
    counts = any("integer" in types_of(branch) for branch in branches(schema) if "type" in branch)
    return int(written) if isinstance(written, float) and counts else written


def _read_hardware(written: str) -> dict[str, Any]:
    """Split "2x A100-80GB", "A100-80GB x2" or "two A100" into count and name, if it has both."""
    if match := _COUNTED.fullmatch(written):
        return {"gpu": match[2].strip(), "count": int(match[1])}
    if match := _COUNTED_LAST.fullmatch(written):
        return {"gpu": match[1].strip(), "count": int(match[2])}
    first, _, name = written.strip().partition(" ")
    if name and (count := read_word(first)):
        return {"gpu": name.strip(), "count": count}
    return {"gpu": written.strip()}


def _pointers(value: Any, pointer: str) -> Iterator[str]:
    if pointer:
        yield pointer
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _pointers(inner, pointer + join([key]))
