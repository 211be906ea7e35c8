"""The schema as data: reading it, and walking over its fields."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a spec: `name` is dotted (`model.revision`).

    `required` says whether its parent requires it. `schema` is the property's mapping, with its
    title, description, default and question.
    """

    name: str
    pointer: str
    required: bool
    schema: Schema


@cache
def read_schema() -> Schema:
    """Return the JSON Schema of specs; callers must not change it.

    A source of a mixture has other programs' words for the values of the fields of `data`.
    """
    schema = _read("schema.json")
    own = schema["$defs"]["data"]["properties"]
    (source,) = (
        each for each in own["sources"]["anyOf"][1]["items"]["anyOf"] if "properties" in each
    )
    for name, field in source["properties"].items():
        if words := own.get(name, {}).get("x-words"):
            field.setdefault("x-words", words)
    return schema


@cache
def read_unsupported() -> Schema:
    """Return the table of keys and values that ftc knows and does not support.

    The values of a field lead to the names of their advice: several have the same. `needless` has
    the advice on what ftc does without the word, `needless_beside` beside another word of the list.
    """
    table = _read("unsupported.json")
    values = {
        pattern: {word: advice for advice, words in groups.items() for word in words}
        for pattern, groups in table["values"].items()
    }
    return {**table, "values": values}


def advise_against(pattern: str, word: str) -> str:
    """Return the key of the sentence about a word that is not a value of the field at a pattern."""
    return f"unsupported.{pattern}.{read_unsupported()['values'][pattern][word]}"


def fields() -> Iterator[Field]:
    """Yield every field, a section before the fields inside it."""
    yield from fields_by_pointer().values()


@cache
def fields_by_pointer() -> Mapping[str, Field]:
    """Return every field by its pointer in the long form."""
    return {field.pointer: field for field in _walk(read_schema(), "", "")}


def find_field(pointer: str) -> Field:
    """Return the field at a pointer of the long form."""
    return fields_by_pointer()[pointer]


def find_siblings(pointer: str) -> Mapping[str, Schema]:
    """Return the other fields beside the one at a pointer of the long form, by their names."""
    above, _, name = pointer.rpartition("/")
    field = fields_by_pointer().get(above)
    form = object_form(field.schema) if field is not None else None
    found = form["properties"] if form is not None else {}
    return {other: schema for other, schema in found.items() if other != name}


def find_unmet(
    schema: Schema, look: Callable[[str], Any]
) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield the unmet conditions of a field: pointer, current value, and required values.

    These are the conditions of `x-when` that do not hold, or none if one of `x-also-when` holds.
    `look` returns the value at a pointer; it raises KeyError if the value is unknown.
    """
    if any(value in values for _, value, values in _conditions(schema, "x-also-when", look)):
        return
    for pointer, value, values in _conditions(schema, "x-when", look):
        if value not in values:
            yield pointer, value, values


def asks_nothing(schema: Schema, value: Any, look: Callable[[str], Any]) -> bool:
    """Return whether a value says no more than what holds where nothing reads the field.

    These are values that switch nothing on, and those that `x-otherwise` lists, some of them under
    conditions.
    """
    if value in (None, "auto", []) or value is False:
        return True
    return any(
        each["value"] == value and not any(find_unmet({"x-when": each.get("when", {})}, look))
        for each in schema.get("x-otherwise", ())
    )


def _conditions(
    schema: Schema, key: str, look: Callable[[str], Any]
) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    for pointer, values in schema.get(key, {}).items():
        try:
            value = look(pointer)
        except KeyError:
            continue
        yield pointer, value, tuple(values)


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


def choices(schema: Schema) -> tuple[Any, ...]:
    """Return the values of the fixed sets among a property's alternatives."""
    return tuple(value for branch in branches(schema) for value in branch.get("enum", ()))


@cache
def fixed_values() -> frozenset[str]:
    """Return the values of all fields with a fixed set, as lower-case text."""
    return frozenset(str(value).lower() for field in fields() for value in choices(field.schema))


def object_form(schema: Schema) -> Schema | None:
    """Return the long form of a section, or None for a property that is not a section."""
    return next((branch for branch in branches(schema) if "properties" in branch), None)


def _read(name: str) -> Schema:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    table: Schema = json.loads(text)
    return table
