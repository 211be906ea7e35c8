"""The schema of a model's proposals, made from the spec's schema; a grammar enforces it."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from ftc.spec.schema import branches, fields

_MOST_CHANGES: Final = 6
_LONGEST_TEXT: Final = 80
_LONGEST_LIST: Final = 4
_KEPT: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


@cache
def proposal_schema() -> Mapping[str, Any]:
    """Return the schema of a proposal: a few fields, each with a bounded value of its type."""
    choices = [
        {
            "type": "object",
            "properties": {"field": {"const": each.pointer}, "value": value},
            "required": ["field", "value"],
            "additionalProperties": False,
        }
        for each in fields()
        if (value := _bounded(each.schema)) is not None
    ]
    return {
        "type": "object",
        "properties": {
            "changes": {"type": "array", "maxItems": _MOST_CHANGES, "items": {"anyOf": choices}}
        },
        "required": ["changes"],
        "additionalProperties": False,
    }


def _bounded(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a field's schema with text and lists of bounded length; None for a section."""
    leaves = [leaf for leaf in map(_leaf, branches(schema)) if leaf is not None]
    if any(branch.get("type") == "object" for branch in branches(schema)) or not leaves:
        return None
    return leaves[0] if len(leaves) == 1 else {"anyOf": leaves}


def _leaf(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if "const" in schema:
        return {"const": schema["const"]}
    if "enum" in schema:
        return {"enum": list(schema["enum"])}
    kinds = schema.get("type")
    named = [each for each in kinds if each != "null"] if isinstance(kinds, list) else [kinds]
    kind = named[0] if len(named) == 1 else None
    if kind == "array":
        items = _leaf(schema["items"])
        return (
            None if items is None else {"type": "array", "items": items, "maxItems": _LONGEST_LIST}
        )
    if kind == "string":
        return {"type": "string", "maxLength": _LONGEST_TEXT}
    if kind in ("integer", "number", "boolean"):
        return {"type": kind} | {key: schema[key] for key in _KEPT if key in schema}
    return None
