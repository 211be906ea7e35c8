"""The long form: short forms spelled out, defaults filled in, and the way back."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.spec.expectation import types_of
from ftc.spec.pointer import join, split
from ftc.spec.schema import Schema, branches, object_form, read_schema

_COUNTED: Final = re.compile(r"\s*([1-9][0-9]{0,3})\s*[xX\u00d7]\s*(.+)", re.DOTALL)
_FOR_READERS: Final = frozenset({"$schema", "ftc"})


def normalise(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the long form with every default; `data` must be valid, sections may be missing.

    A required section that is missing stays missing. `$schema` and `ftc` are left out.
    """
    long = {}
    for section, schema in read_schema()["properties"].items():
        if section in _FOR_READERS or (section not in data and "default" not in schema):
            continue
        long[section] = _complete(section, data.get(section, schema.get("default")), schema)
    return long


def lengthen(section: str, written: Any) -> Any:
    """Return the object that the short form of a section stands for, without defaults.

    What is no short form is returned as it is.
    """
    schema = read_schema()["properties"].get(section, {})
    if isinstance(written, Mapping) or "x-short" not in schema:
        return written
    if section == "hardware" and isinstance(written, str):
        return _read_hardware(written)
    return {schema["x-short"]: written}


def said(data: Mapping[str, Any]) -> frozenset[str]:
    """Return the long form's pointers of all that the user wrote."""
    long = {section: lengthen(section, written) for section, written in data.items()}
    return frozenset(_pointers(long, ""))


def written_pointer(data: Any, pointer: str) -> str:
    """Return the pointer, in the written form, of a value of the long form.

    Inside a short form only the section itself can be pointed at, or an item of its list.
    """
    parts = split(pointer)
    if len(parts) <= 1 or not isinstance(data, Mapping):
        return pointer
    section, key, *rest = parts
    short = read_schema()["properties"].get(section, {}).get("x-short")
    if short is None or section not in data or isinstance(data[section], Mapping):
        return pointer
    if key == short:
        return join([section, *rest])
    return pointer if key.isdecimal() else join([section])


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
    """Return 8 for 8.0 where the field counts: JSON Schema takes both for the same number."""
    counts = any("integer" in types_of(branch) for branch in branches(schema) if "type" in branch)
    return int(written) if isinstance(written, float) and counts else written


def _read_hardware(written: str) -> dict[str, Any]:
    """Split "2x A100-80GB" into its count and its name; a name alone says no count."""
    match = _COUNTED.fullmatch(written)
    if match is None:
        return {"gpu": written.strip()}
    return {"gpu": match[2].strip(), "count": int(match[1])}


def _pointers(value: Any, pointer: str) -> Iterator[str]:
    if pointer:
        yield pointer
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _pointers(inner, pointer + join([key]))
