"""What a field expects, in English."""

from typing import Any, Final

from ftc.spec.schema import Schema, branches

_MOST_WORDS: Final = 12
_FEW_WORDS: Final = 4
_TYPES = {
    "string": "text in quotes",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "`true` or `false`",
    "null": "`null`",
    "array": "a list",
    "object": "an object",
}


def expectation(schema: Schema) -> str:
    """Return what the field accepts: "`auto` or a whole number from 1 to 4,096"."""
    words = [word for branch in branches(schema) for word in _alternatives(branch)]
    return either(list(dict.fromkeys(words)))


def bounds(schema: Schema) -> str:
    """Return the range of a number's branch: "from 1 to 4,096"."""
    if "exclusiveMinimum" in schema:
        return f"above {schema['exclusiveMinimum']:,} and at most {schema['maximum']:,}"
    return f"from {schema['minimum']:,} to {schema['maximum']:,}"


def words_of(schema: Schema) -> tuple[str, ...]:
    """Return the words that the field accepts by name."""
    found: list[str] = []
    for branch in branches(schema):
        choices = branch.get("enum", [branch["const"]] if "const" in branch else [])
        found += [choice for choice in choices if isinstance(choice, str)]
    return tuple(dict.fromkeys(found))


def either(words: list[str]) -> str:
    """Return an enumeration in English: "a, b or c"."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words)


def types_of(schema: Schema) -> tuple[str, ...]:
    """Return the JSON types that one branch accepts."""
    if "type" in schema:
        kind = schema["type"]
        return (kind,) if isinstance(kind, str) else tuple(kind)
    return (json_type(schema["const"]),)


def json_type(value: Any) -> str:
    """Return the JSON type of a value; a whole number is an integer, whichever way written."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    kinds = {float: "number", str: "string", list: "array", dict: "object"}
    return kinds[type(value)]


def accepts_type(schema: Schema, value: Any) -> bool:
    """Whether the value's type, not yet the value, is one that the branch accepts."""
    kind = json_type(value)
    kinds = types_of(schema)
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _alternatives(branch: Schema) -> list[str]:
    if choices := branch.get("enum", [branch["const"]] if "const" in branch else []):
        return [f"`{choice}`" for choice in choices]
    return [_one(kind, branch) for kind in types_of(branch)]


def _one(kind: str, branch: Schema) -> str:
    words = _TYPES[kind]
    if kind in {"integer", "number"}:
        return f"{words} {bounds(branch)}"
    if kind == "array" and (names := words_of(branch["items"])):
        shown = [f"`{name}`" for name in names]
        if len(shown) > _MOST_WORDS:
            shown = [*shown[:_FEW_WORDS], "..."]
        return f"a list of words ({', '.join(shown)})"
    return words
