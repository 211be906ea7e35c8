"""Admission: whether a field accepts a value, by the field's schema."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from ftc.spec.schema import branches, fields
from ftc.spec.values.expectation import json_type, types_of


def admits(pointer: str, value: Any) -> bool:
    """Return whether the schema accepts a value for a field; None (removal) is always accepted."""
    if value is None:
        return True
    return any(_fits(schema, value) for schema in branches(_schemas()[pointer]))


def _fits(schema: Mapping[str, Any], value: Any) -> bool:
    if "const" in schema:
        return bool(value == schema["const"])
    if "enum" in schema:
        return value in schema["enum"]
    kind = json_type(value)
    kinds = types_of(schema)
    if kind not in kinds and not (kind == "integer" and "number" in kinds):
        return False
    if kind == "string":
        return _is_text(schema, value)
    if kind == "object":
        return _is_object(schema, value)
    if kind == "array":
        kept = branches(schema["items"])
        return all(any(_fits(kind, each) for kind in kept) for each in value)
    return kind == "boolean" or _is_within(schema, value)


def _is_object(schema: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Return whether each key has a schema that accepts its value, and none is missing."""
    named = schema.get("properties", {})
    if not set(schema.get("required", ())) <= value.keys():
        return False
    return all(
        any(_fits(each, one) for each in (branches(named[key]) if key in named else _inner(schema)))
        for key, one in value.items()
    )


def _inner(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the schemas of the values of an object with free keys; none if its keys are fixed."""
    inner = schema.get("additionalProperties")
    return tuple(branches(inner)) if isinstance(inner, Mapping) else ()


def _is_text(schema: Mapping[str, Any], value: str) -> bool:
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        return False
    return re.search(schema.get("pattern", ""), value) is not None


def _is_within(schema: Mapping[str, Any], value: float) -> bool:
    if value < schema.get("minimum", value) or value > schema.get("maximum", value):
        return False
    return "exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"]


@cache
def _schemas() -> Mapping[str, Mapping[str, Any]]:
    return {field.pointer: field.schema for field in fields()}
