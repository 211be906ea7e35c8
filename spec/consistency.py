"""Conflicts between fields: cases in which one field would be accepted and then ignored."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, reduce
from operator import getitem
from typing import Any, Final

from ftc.spec.columns.usual_names import ROLES
from ftc.spec.findings.explanations import (
    FOREIGN_COLUMN,
    MISSING_KEY,
    NOTHING_TO_MEASURE,
    NOTHING_TO_TRAIN,
    SOURCE_BESIDE_SOURCES,
    TWO_LENGTHS,
    UNREAD_FIELD,
    UNWEIGHTED_REPEATS,
    WEIGHTS_OF_SOME,
    WRONG_TYPE,
)
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote
from ftc.spec.left_out import LeftOut, leave_out
from ftc.spec.normal import normalise, said
from ftc.spec.pointer import dotted, split
from ftc.spec.schema import Field, Schema, asks_nothing, fields, find_field, find_unmet
from ftc.spec.values.repair import switches_off

_HELD_OUT_BELOW: Final = 0.9
#: Roles that are optional in their row format.
_OPTIONAL: Final = frozenset({"tools", "images", "input"})
#: Similar roles: those of questions, and those of answers.
_ALIKE: Final = (
    ("prompt", "instruction", "text", "input"),
    ("completion", "output", "label"),
)


def find_conflicts(
    data: Mapping[str, Any],
    *,
    left_out: Collection[str] = (),
    wrong: Collection[str] = (),
) -> Iterator[Finding]:
    """Yield findings on the given sections of the written form, which must be valid.

    Pointers are those of the long form. Nothing is concluded from the values of the fields in
    `left_out`; those in `wrong` are written, with a value that is not valid.
    """
    long = leave_out(normalise(data), left_out)
    written = said(data).union(wrong)
    for sections, check in _CHECKS:
        if sections <= long.keys():
            with suppress(LeftOut):
                yield from check(long, written)


def _unread(long: Mapping[str, Any], written: frozenset[str]) -> Iterator[Finding]:
    """Find fields that ask for something, and that nothing reads according to `x-when`."""

    def look(pointer: str) -> Any:
        return reduce(getitem, split(pointer), long)

    for field in fields():
        if field.pointer not in written or "x-when" not in field.schema:
            continue
        with suppress(LeftOut):
            if _asks_nothing(field, look):
                continue
            causes = {cause[0]: cause for cause in _find_causes(field.schema, look)}
            for pointer, value, values in causes.values():
                yield _explain_unread(field, pointer, value, values)


def _explain_unread(field: Field, pointer: str, value: Any, values: tuple[Any, ...]) -> Finding:
    """Report a field that nothing reads, because another one has this value and none of `values`.

    A field that only a more exact word reads (`x-refines`: `qlora` for `lora`) asks for that word.
    The fix then writes it. With a value that is not a less exact form of it, what is meant is not
    known, and no fix that leaves the field out is safe.
    """
    refines = find_field(pointer).schema.get("x-refines", {})
    refined = next(iter(values), None) if len(values) == 1 and values[0] in refines else None
    is_meant = refined is not None and value in refines[refined]
    finding = UNREAD_FIELD.finding(
        help="meant" if is_meant else "",
        pointer=field.pointer,
        fix=(
            {"op": "add", "path": pointer, "value": refined}
            if is_meant
            else {"op": "remove", "path": field.pointer},
        ),
        field=field.name,
        other=dotted(pointer),
        value=str(value),
        values=[str(word) for word in values],
        meant=str(refined),
    )
    is_detail = len(field.schema["x-when"]) > 1  # of another choice that may not be made
    is_sure = refined is None or (is_meant and not is_detail)
    return finding if is_sure else replace(finding, fix_safety="unsafe")


def _asks_nothing(field: Field, look: Callable[[str], Any]) -> bool:
    """Return whether a field's value says nothing; one that is not valid says something."""
    try:
        value = look(field.pointer)
    except LeftOut:
        return False
    return asks_nothing(field.schema, value, look)


def _find_causes(
    schema: Schema, look: Callable[[str], Any]
) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield the unmet conditions that a user can change: pointer, value, and required values.

    If nothing reads the field of a condition either, its own unmet conditions come first.
    """
    for pointer, value, values in find_unmet(schema, look):
        causes = tuple(_find_causes(find_field(pointer).schema, look))
        yield from causes or ((pointer, value, values),)


def _said_off(long: Mapping[str, Any], written: frozenset[str]) -> Iterator[Finding]:
    """Find texts that say that there is none: `"system": "no"`, which YAML 1.2 reads as text."""
    for pointer in written & _free_texts():
        with suppress(LeftOut):
            value = reduce(getitem, split(pointer), long)
            if isinstance(value, str) and len(value) > 1 and switches_off(value):
                finding = WRONG_TYPE.finding(
                    help="null",
                    pointer=pointer,
                    fix=({"op": "remove", "path": pointer},),
                    name=dotted(pointer),
                    value=quote(value),
                )
                yield replace(finding, fix_safety="unsafe")


@cache
def _free_texts() -> frozenset[str]:
    """Return the fields that are empty by default and take any text but a column's name."""
    return frozenset(
        field.pointer
        for field in fields()
        if field.schema.get("default", "") is None
        and field.schema.get("type") == ["string", "null"]
        and not field.pointer.startswith("/data/columns/")
    )


def _two_lengths(long: Mapping[str, Any], _: frozenset[str]) -> Iterator[Finding]:
    training = long["training"]
    if training["max_steps"] is not None and training["epochs"] != "auto":
        yield TWO_LENGTHS.finding(pointer="/training/max_steps")


def _held_out(long: Mapping[str, Any], _: frozenset[str]) -> Iterator[Finding]:
    splits = long["data"]["splits"]
    held_out = splits["test"] + splits["validation"]
    if held_out >= _HELD_OUT_BELOW:
        yield NOTHING_TO_TRAIN.finding(pointer="/data/splits", held_out=held_out)


def _sources(long: Mapping[str, Any], _: frozenset[str]) -> Iterator[Finding]:
    """Check that there is one source or several, and weights for all of them or for none."""
    one, several = long["data"]["source"], long["data"]["sources"]
    if one is None and several is None:
        yield MISSING_KEY.finding(help="source", pointer="/data/source", key="data.source")
    if several is None:
        return
    if one is not None:
        yield SOURCE_BESIDE_SOURCES.finding(pointer="/data/source")
    items = [item if isinstance(item, Mapping) else {} for item in several]
    weighed = ["weight" in item for item in items]
    for place, item in enumerate(items):
        if any(weighed) and not weighed[place]:
            yield WEIGHTS_OF_SOME.finding(pointer=f"/data/sources/{place}", place=place)
        if "max_repeats" in item and not any(weighed):
            yield UNWEIGHTED_REPEATS.finding(
                pointer=f"/data/sources/{place}/max_repeats",
                fix=({"op": "remove", "path": f"/data/sources/{place}/max_repeats"},),
                place=place,
            )


def _columns(long: Mapping[str, Any], _: frozenset[str]) -> Iterator[Finding]:
    """Find roles of another form; the form `auto` is the one that most of the roles belong to."""
    given = [role for role, column in long["data"]["columns"].items() if column is not None]
    stated = long["data"]["form"]
    form = stated
    if form == "auto":
        form = max(ROLES, key=lambda form: len(set(given) & set(ROLES[form])))
    if all(role in ROLES[form] for role in given):
        return
    likely = (
        None
        if "objective" in long and long["objective"]["type"] == "cpt"
        else (_rename(given, ROLES if stated == "auto" else (stated,)))
    )
    form, meant = likely or (form, {})
    for role in given:
        pointer = f"/data/columns/{role}"
        if role in meant:
            fix = ({"op": "move", "from": pointer, "path": f"/data/columns/{meant[role]}"},)
            yield FOREIGN_COLUMN.finding(
                help="meant", pointer=pointer, fix=fix, role=role, form=form, meant=meant[role]
            )
        elif role not in ROLES[form]:
            yield FOREIGN_COLUMN.finding(pointer=pointer, role=role, form=form)


def _rename(given: Sequence[str], forms: Iterable[str]) -> tuple[str, dict[str, str]] | None:
    """Return the form whose roles have these meanings, and its names for them, or None.

    Of several forms it is the one with the fewest new names, and then the first.
    """
    found = []
    for form in forms:
        meant: dict[str, str] = {}
        for role in (each for each in given if each not in ROLES[form]):
            alike = next((group for group in _ALIKE if role in group), ())
            free = [each for each in ROLES[form] if each in alike and each not in given]
            if free and free[0] not in meant.values():
                meant[role] = free[0]
        named = {meant.get(role, role) for role in given}
        if (
            named <= set(ROLES[form])
            and len(named) == len(given)
            and set(ROLES[form]) - _OPTIONAL <= named
        ):
            found.append((len(meant), form, meant))
    _, form, meant = min(found, key=lambda each: each[0], default=(0, "", {}))
    return (form, meant) if form else None


def _nothing_to_measure(long: Mapping[str, Any], _: frozenset[str]) -> Iterator[Finding]:
    splits, training = long["data"]["splits"], long["training"]
    asked = {
        "/training/early_stopping": training["early_stopping"] is not None,
        "/training/evaluation/every_steps": training["evaluation"]["every_steps"] != "auto",
        "/training/evaluation/best_by": training["evaluation"]["best_by"] == "metric",
    }
    for pointer, is_asked in asked.items():
        if is_asked and not splits["validation"]:
            yield _unmeasured(pointer, "validation")
    if training["evaluation"]["metric"] not in {"auto", "none"} and not splits["test"]:
        yield _unmeasured("/training/evaluation/metric", "test")
    if splits["stratify"] is True and not splits["validation"] and not splits["test"]:
        yield _unmeasured("/data/splits/stratify", "test")


def _unmeasured(pointer: str, split: str) -> Finding:
    name = pointer[1:].replace("/", ".")
    return NOTHING_TO_MEASURE.finding(pointer=pointer, name=name, split=split)


_Check = Callable[[Mapping[str, Any], frozenset[str]], Iterator[Finding]]
_CHECKS: Final[tuple[tuple[frozenset[str], _Check], ...]] = (
    (frozenset(), _unread),
    (frozenset(), _said_off),
    (frozenset({"training"}), _two_lengths),
    (frozenset({"data"}), _held_out),
    (frozenset({"data"}), _sources),
    (frozenset({"data"}), _columns),
    (frozenset({"data", "training"}), _nothing_to_measure),
)
