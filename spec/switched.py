"""Values that only turn a field on or off, and names of fields given as values."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ftc.spec.findings.explanations import UNKNOWN_VALUE, WRONG_TYPE
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote
from ftc.spec.keys.foreign import replace_key
from ftc.spec.keys.known_keys import pair
from ftc.spec.pointer import dotted, join, parent, split
from ftc.spec.schema import (
    Schema,
    branches,
    fields_by_pointer,
    find_field,
    find_siblings,
    object_form,
    read_schema,
    read_unsupported,
)
from ftc.spec.values.expectation import expectation, words_of
from ftc.spec.values.nearest import find_alike
from ftc.spec.values.repair import Repair, says_yes, switches_off
from ftc.spec.values.verdict import Violation, is_valid


def report_switch(
    violation: Violation, data: Mapping[str, Any], stated: Schema, meant: Repair | None
) -> Finding | None:
    """Report a value that says what leaving it out says, or that another field turns off.

    `stated` is the field of the value with its default, `meant` the repair of the value, if any.
    """
    pointer, value, field = violation.pointer, violation.value, violation.field
    explanation = WRONG_TYPE
    fix: tuple[dict[str, Any], ...] = ({"op": "remove", "path": pointer},)
    elsewhere = stated.get("x-off-at")
    if elsewhere is not None and switches_off(value):
        off = find_field(elsewhere).schema["x-off"]
        finding = WRONG_TYPE.finding(
            help="beside",
            pointer=pointer,
            fix=replace_key(data, pointer, {elsewhere: off}),
            name=violation.name,
            value=quote(value),
            pairs=(pair(elsewhere, off),),
        )
        return replace(finding, fix_safety="unsafe")
    if isinstance(violation.parts[-1], int):
        explanation, fix = UNKNOWN_VALUE, _remove_items(violation, data)
        if not words_of(field) or not _says_none(value):
            return None
    elif meant is not None or pointer.startswith("/$") or not _is_left_out(value, stated, field):
        return None
    return explanation.finding(
        help="null", pointer=pointer, fix=fix, name=violation.name, value=quote(value)
    )


def _says_none(item: Any) -> bool:
    """Return whether an item of a list says that there is none."""
    return item is None or switches_off(item)


def _remove_items(violation: Violation, data: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return the patch that removes all items of a list that say none, the last first."""
    *above, _ = violation.parts
    held: Any = data
    for part in above:
        held = held[part]
    places = [place for place, item in enumerate(held) if _says_none(item)]
    return tuple({"op": "remove", "path": join([*above, place])} for place in reversed(places))


def _is_left_out(value: Any, stated: Schema, field: Schema) -> bool:
    """Return whether a value means the same as leaving the field out: `auto`, `no`, or `yes`."""
    if "default" not in stated:
        return False
    nothing = stated["default"] in (None, [])
    if value == "auto":  # of other tools: what they find out by themselves
        return True
    if says_yes(value):
        return object_form(stated) is not None and "x-short" not in stated and not nothing
    return value is None or (switches_off(value) and nothing and is_valid(stated["default"], field))


def _items(field: Schema) -> Iterator[Schema]:
    """Yield the schemas of a list's items."""
    return (branch["items"] for branch in branches(field) if "items" in branch)


def _report_far_word(violation: Violation, value: str) -> Finding | None:
    """Report a word that names the kind of another section only: `"method": "dpo"`."""
    word = value.casefold()
    kinds = (
        f"/{name}/{schema.get('x-short')}" for name, schema in read_schema()["properties"].items()
    )
    owners = [
        kind
        for kind in kinds
        if (field := fields_by_pointer().get(kind)) and word in words_of(field.schema)
    ]
    if len(owners) != 1 or split(owners[0])[0] == violation.parts[0]:
        return None
    return UNKNOWN_VALUE.finding(
        help="field",
        pointer=violation.pointer,
        name=violation.name,
        value=quote(value),
        field=dotted(owners[0]),
        meant=word,
    )


def report_named_field(violation: Violation, pattern: str) -> Finding | None:
    """Report the name of another field of the section: `"export": "vllm"`.

    `pattern` is the pointer of the value in the long form, with `*` for an index.
    """
    value, own = violation.value, pattern.removesuffix("/*")
    if not words_of(violation.field) and not any(map(words_of, _items(violation.field))):
        return None
    unsupported = read_unsupported()["values"]
    if not isinstance(value, str) or any(
        find_alike(value, unsupported.get(each, ())) for each in (own, f"{own}/*")
    ):
        return None
    siblings = find_siblings(own)
    name = find_alike(value, siblings)
    if name is None:
        return _report_far_word(violation, value)
    if siblings[name].get("type") == "boolean":
        return None
    example = siblings[name]["examples"][0]
    return UNKNOWN_VALUE.finding(
        help="names",
        pointer=violation.pointer,
        name=violation.name,
        value=quote(value),
        field=dotted(f"{parent(own)}/{name}"),
        expected=expectation(siblings[name]),
        example=json.dumps(example, ensure_ascii=False),
    )
