"""From the schema's verdict on a spec to findings, each on one value and what its field takes."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from ftc.spec.expectation import accepts_type, expectation, words_of
from ftc.spec.finding import Finding
from ftc.spec.keys import missing_keys, unknown_keys
from ftc.spec.nearest import is_certain, nearest
from ftc.spec.pages import (
    MALFORMED_LIST,
    MALFORMED_TEXT,
    OUT_OF_RANGE,
    PLANNED_VALUE,
    UNKNOWN_VALUE,
    WRONG_TYPE,
)
from ftc.spec.pointer import join
from ftc.spec.quote import quote
from ftc.spec.schema import Schema, branches, read_planned, read_schema
from ftc.spec.verdict import Violation, find_verdict, is_valid

_LONGEST_REPAIR: Final = 100
_MOST_WORDS: Final = 12


def find_violations(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding, not yet located, for each value that the schema does not allow."""
    for violation in find_verdict(data):
        yield from _TRANSLATIONS[violation.keyword](violation, data)


def _wrong_type(violation: Violation, data: Mapping[str, Any]) -> Iterator[Finding]:
    yield WRONG_TYPE.finding(
        message=f"`{violation.name}` cannot be {quote(violation.value)}",
        help=f"write {_expectation(violation, data)}",
        pointer=violation.pointer,
        fix=_replace(violation.pointer, _repair(violation.value, violation.field)),
    )


def _unknown_word(violation: Violation, data: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge a value that is none of the field's words, nor of any other type it takes."""
    value, field = violation.value, violation.field
    known = words_of(field)
    if isinstance(value, str) and known:
        planned = read_planned()["values"].get(_long_pattern(violation, data), {})
        meant = nearest(value, (*known, *planned))
        if meant is not None and meant in planned:
            yield _planned_word(violation, meant, planned[meant])
        else:
            yield _misspelt_word(violation, meant, (*known, *planned), data)
    elif violation.keyword == "anyOf" or any(accepts_type(leaf, value) for leaf in branches(field)):
        yield from _wrong_type(violation, data)


def _planned_word(violation: Violation, meant: str, advice: str) -> Finding:
    exact = violation.value == meant
    what = f"is {quote(meant)}, which is planned, not yet there"
    what = what if exact else f"cannot be {quote(violation.value)}"
    asked = "" if exact else f"did you mean `{meant}`? it is planned, not yet there: "
    return PLANNED_VALUE.finding(
        message=f"`{violation.name}` {what}",
        help=f"{asked}{advice}",
        pointer=violation.pointer,
    )


def _misspelt_word(
    violation: Violation, meant: str | None, known: tuple[str, ...], data: Mapping[str, Any]
) -> Finding:
    value = violation.value
    certain = meant is not None and is_certain(value, meant, known)
    repaired = meant if certain else _repair(value, violation.field)
    return UNKNOWN_VALUE.finding(
        message=f"`{violation.name}` cannot be {quote(value)}",
        help=(f"did you mean `{meant}`? " if meant else "")
        + f"write {_expectation(violation, data)}",
        pointer=violation.pointer,
        fix=_replace(violation.pointer, repaired),
    )


def _expectation(violation: Violation, data: Mapping[str, Any]) -> str:
    """Return what the field takes; where that is many words, who lists them."""
    count = len(words_of(violation.field))
    if count <= _MOST_WORDS:
        return expectation(violation.field)
    name = _long_pattern(violation, data)[1:].removesuffix("/*").replace("/", ".")
    return f"one of the {count} words that `ftc explain {name}` lists"


def _long_pattern(violation: Violation, data: Mapping[str, Any]) -> str:
    """Return the value's pointer in the long form, `*` for an index of a list."""
    section, *rest = violation.parts
    short = read_schema()["properties"][section].get("x-short")
    if short and not isinstance(data[str(section)], Mapping):
        rest = [short, *rest]
    return join([section, *("*" if isinstance(part, int) else part for part in rest)])


def _out_of_range(violation: Violation, _: Mapping[str, Any]) -> Iterator[Finding]:
    yield OUT_OF_RANGE.finding(
        message=f"`{violation.name}` cannot be {quote(violation.value)}",
        help=f"write {expectation(violation.field)}",
        pointer=violation.pointer,
    )


def _malformed_text(violation: Violation, _: Mapping[str, Any]) -> Iterator[Finding]:
    pointer, schema = violation.pointer, violation.schema
    example = next(iter(violation.field.get("examples", ())), None)
    advice = f"write text such as {quote(example)}" if example else "write other text"
    better = None
    if violation.keyword == "maxLength":
        advice = f"write at most {schema['maxLength']:,} characters"
    elif pointer == "/name":
        advice = "use small letters, digits and hyphens inside, at most 63 in all"
        better = re.sub(r"[^a-z0-9]+", "-", violation.value.lower())[:63].strip("-")
    yield MALFORMED_TEXT.finding(
        message=f"`{violation.name}` cannot be {quote(violation.value)}",
        help=advice,
        pointer=pointer,
        fix=_replace(pointer, better or None),
    )


def _malformed_list(violation: Violation, data: Mapping[str, Any]) -> Iterator[Finding]:
    if violation.keyword == "uniqueItems":
        what, advice = "holds an item twice", "keep one of them"
    elif violation.keyword == "minProperties":
        what, advice = "is empty", f"write {_expectation(violation, data)}"
    elif violation.keyword == "minItems":
        what, advice = "is an empty list", f"write {_expectation(violation, data)}"
    else:
        what = f"holds {len(violation.value):,} items"
        advice = f"write at most {violation.schema['maxItems']:,}"
    yield MALFORMED_LIST.finding(
        message=f"`{violation.name}` {what}", help=advice, pointer=violation.pointer
    )


def _closed(violation: Violation, data: Mapping[str, Any]) -> Iterator[Finding]:
    return unknown_keys(data, violation.pointer, violation.value, violation.schema)


def _required(violation: Violation, _: Mapping[str, Any]) -> Iterator[Finding]:
    return missing_keys(violation.pointer, violation.value, violation.schema)


def _repair(value: Any, field: Schema) -> Any:
    """Return what was certainly meant: a number or truth value in quotes, one item as a list."""
    candidates: list[Any] = [[value]]
    if isinstance(value, str):
        with suppress(ValueError):
            candidates.append(json.loads(value[:_LONGEST_REPAIR].lower()))
    return next((it for it in candidates if it is not None and is_valid(it, field)), None)


def _replace(pointer: str, value: Any) -> tuple[dict[str, Any], ...]:
    return () if value is None else ({"op": "replace", "path": pointer, "value": value},)


_Translation = Callable[[Violation, Mapping[str, Any]], Iterator[Finding]]
_TRANSLATIONS: Final[Mapping[str, _Translation]] = {
    "type": _wrong_type,
    "additionalProperties": _closed,
    "required": _required,
    "anyOf": _unknown_word,
    "enum": _unknown_word,
    "const": _unknown_word,
    "minimum": _out_of_range,
    "maximum": _out_of_range,
    "exclusiveMinimum": _out_of_range,
    "exclusiveMaximum": _out_of_range,
    "minLength": _malformed_text,
    "maxLength": _malformed_text,
    "pattern": _malformed_text,
    "minItems": _malformed_list,
    "minProperties": _malformed_list,
    "maxItems": _malformed_list,
    "uniqueItems": _malformed_list,
}
