"""Describes in words what a field expects."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ftc.spec.message import Message
from ftc.spec.schema import Schema, branches

_MOST_WORDS: Final = 12
_FEW_WORDS: Final = 4
_TYPES: Final[Mapping[str, str | Message]] = {
    "string": Message("phrase.text"),
    "null": "`null`",
    "array": Message("phrase.list"),
    "object": Message("phrase.object"),
}


def expectation(schema: Schema) -> Message:
    """Return what the field accepts: "`auto` or a whole number from 1 to 4,096".

    `x-share` names the whole of which a number is a part.
    """
    found = list[str | Message]()
    for branch in branches(schema):
        found += [word for word in _alternatives(branch) if word not in found]
    either = Message("phrase.either", {"options": found})
    whole = schema.get("x-share")
    return Message(f"phrase.share_of_{whole}", {"number": either}) if whole else either


def draws_rows(value: Any, schema: Schema) -> bool:
    """Return whether a field for a share of the rows holds a file or a split instead."""
    is_text = isinstance(value, str) and any(map(str.isalpha, value))
    return schema.get("x-share") == "rows" and (is_text or isinstance(value, list | Mapping))


def words_of(schema: Schema) -> tuple[str, ...]:
    """Return the words that the field accepts by name."""
    found: list[str] = []
    for branch in branches(schema):
        found += [choice for choice in _choices(branch) if isinstance(choice, str)]
    return tuple(dict.fromkeys(found))


def types_of(schema: Schema) -> tuple[str, ...]:
    """Return the JSON types that one branch accepts."""
    if "type" in schema:
        kind = schema["type"]
        return (kind,) if isinstance(kind, str) else tuple(kind)
    return tuple(dict.fromkeys(map(json_type, _choices(schema))))


def json_type(value: Any) -> str:
    """Return the JSON type of a value; 8.0 is an integer too."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    kinds = {float: "number", str: "string", list: "array", dict: "object"}
    return kinds[type(value)]


def accepts_type(schema: Schema, value: Any) -> bool:
    """Return whether the branch accepts the value's type; the value itself is not checked."""
    kind = json_type(value)
    kinds = types_of(schema)
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _choices(branch: Schema) -> Sequence[Any]:
    """Return the values that a branch lists, if it lists any."""
    values: Sequence[Any] = branch.get("enum", [branch["const"]] if "const" in branch else [])
    return values


def _alternatives(branch: Schema) -> list[str | Message]:
    if choices := _choices(branch):
        return [f"`{choice}`" for choice in choices]
    found = list[str | Message]()
    for kind in types_of(branch):
        found += ["`true`", "`false`"] if kind == "boolean" else [_one(kind, branch)]
    return found


def _one(kind: str, branch: Schema) -> str | Message:
    if kind in {"integer", "number"}:
        above = "exclusiveMinimum" in branch
        low = branch["exclusiveMinimum" if above else "minimum"]
        key = f"phrase.{kind}_above" if above else f"phrase.{kind}_from"
        return Message(key, {"low": low, "high": branch["maximum"]})
    if kind == "array" and (names := words_of(branch["items"])):
        few = len(names) <= _MOST_WORDS
        shown = names if few else names[:_FEW_WORDS]
        return Message("phrase.words" if few else "phrase.many_words", {"words": shown})
    return _TYPES[kind]
