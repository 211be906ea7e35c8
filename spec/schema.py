"""The schema as data: reading it, and walking over its fields."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One property of the language: `name` is dotted (`model.revision`), `required` by its parent.

    `schema` is the property's own mapping, with its title, description, default and question.
    """

    name: str
    pointer: str
    required: bool
    schema: Schema


@cache
def read_schema() -> Schema:
    """Return the JSON Schema of the language; callers must not change it."""
    return _read("schema.json")


@cache
def read_planned() -> Schema:
    """Return the table of keys and values that are designed and do not exist yet."""
    return _read("planned.json")


def fields() -> Iterator[Field]:
    """Yield every field, a section before the fields inside it."""
    yield from _walk(read_schema(), "", "")


def _walk(section: Schema, prefix: str, pointer: str) -> Iterator[Field]:
    for key, schema in section["properties"].items():
        field = Field(
            name=prefix + key,
            pointer=f"{pointer}/{key}",
            required=key in section.get("required", ()),
            schema=schema,
        )
        yield field
        if inner := object_form(schema):
            yield from _walk(inner, f"{field.name}.", field.pointer)


def branches(schema: Schema) -> tuple[Schema, ...]:
    """Return the alternatives of a property, references resolved; most have only one."""
    if "$ref" in schema:
        return (read_schema()["$defs"][schema["$ref"].removeprefix("#/$defs/")],)
    if "anyOf" in schema:
        return tuple(leaf for branch in schema["anyOf"] for leaf in branches(branch))
    return (schema,)


def object_form(schema: Schema) -> Schema | None:
    """Return the long form of a section, None for a property that is no section."""
    return next((branch for branch in branches(schema) if "properties" in branch), None)


def _read(name: str) -> Schema:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    table: Schema = json.loads(text)
    return table
