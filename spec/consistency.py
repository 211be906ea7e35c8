"""Conflicts between fields: cases in which one field would be accepted and then ignored."""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any, Final

from ftc.spec.explanations import (
    FOREIGN_COLUMN,
    MISSING_KEY,
    NOTHING_TO_MEASURE,
    NOTHING_TO_TRAIN,
    SOURCE_BESIDE_SOURCES,
    TWO_LENGTHS,
    UNREAD_FIELD,
    UNWEIGHTED_REPEATS,
    WEIGHTS_OF_SOME,
)
from ftc.spec.finding import Finding
from ftc.spec.normal import normalise, said
from ftc.spec.pointer import dotted, split
from ftc.spec.schema import Schema, asks_nothing, fields, find_field, find_unmet

_HELD_OUT_BELOW: Final = 0.9
_ROLES: Final = {
    "chat": ("messages", "tools", "images"),
    "prompt_completion": ("prompt", "completion", "images"),
    "instruction": ("instruction", "input", "output", "images"),
    "text": ("text",),
    "preference": ("prompt", "chosen", "rejected"),
    "feedback": ("prompt", "completion", "label"),
    "scored": ("prompt", "completion", "score"),
    "prompt": ("prompt",),
}


def find_conflicts(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield findings on the given sections of the written form, which must be valid.

    Pointers are those of the long form.
    """
    long = normalise(data)
    written = said(data)
    for sections, check in _CHECKS:
        if sections <= long.keys():
            yield from check(long, written)


def _unread(long: Mapping[str, Any], written: frozenset[str]) -> Iterator[Finding]:
    """Find fields that ask for something, and that nothing reads according to `x-when`."""

    def look(pointer: str) -> Any:
        return reduce(getitem, split(pointer), long)

    for field in fields():
        if field.pointer not in written or "x-when" not in field.schema:
            continue
        if asks_nothing(field.schema, look(field.pointer), look):
            continue
        for pointer, value, values in _find_causes(field.schema, look):
            yield UNREAD_FIELD.finding(
                pointer=field.pointer,
                fix=({"op": "remove", "path": field.pointer},),
                field=field.name,
                other=dotted(pointer),
                value=str(value),
                values=[str(word) for word in values],
            )


def _find_causes(
    schema: Schema, look: Callable[[str], Any]
) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield the unmet conditions that a user can change: pointer, value, and required values.

    If nothing reads the field of a condition either, its own unmet conditions come first.
    """
    for pointer, value, values in find_unmet(schema, look):
        causes = tuple(_find_causes(find_field(pointer).schema, look))
        yield from causes or ((pointer, value, values),)


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
    form = long["data"]["form"]
    if form == "auto":
        form = max(_ROLES, key=lambda form: len(set(given) & set(_ROLES[form])))
    for role in given:
        if form != "auto" and role not in _ROLES[form]:
            yield FOREIGN_COLUMN.finding(pointer=f"/data/columns/{role}", role=role, form=form)


def _nothing_to_measure(long: Mapping[str, Any], _: frozenset[str]) -> Iterator[Finding]:
    splits, training = long["data"]["splits"], long["training"]
    asked = {
        "/training/early_stopping": training["early_stopping"] is not None,
        "/training/evaluation/every_steps": training["evaluation"]["every_steps"] != "auto",
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
    (frozenset({"training"}), _two_lengths),
    (frozenset({"data"}), _held_out),
    (frozenset({"data"}), _sources),
    (frozenset({"data"}), _columns),
    (frozenset({"data", "training"}), _nothing_to_measure),
)
