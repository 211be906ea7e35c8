"""What no single field can say: pairs of fields of which one would be accepted and then ignored."""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any, Final

from ftc.spec.finding import Finding
from ftc.spec.normal import normalise, said
from ftc.spec.pages import (
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
from ftc.spec.pointer import dotted, split
from ftc.spec.schema import Field, fields

_HELD_OUT_BELOW: Final = 0.9
_ROLES: Final = {
    "chat": ("messages", "tools"),
    "prompt_completion": ("prompt", "completion"),
    "instruction": ("instruction", "input", "output"),
    "text": ("text",),
    "preference": ("prompt", "chosen", "rejected"),
    "feedback": ("prompt", "completion", "label"),
}


def find_conflicts(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield findings on the sections of the written form given here, which are all valid.

    Their pointers are those of the long form.
    """
    long = normalise(data)
    written = said(data)
    for sections, check in _CHECKS:
        if sections <= long.keys():
            yield from check(long, written)


def _unread(long: Mapping[str, Any], written: frozenset[str]) -> Iterator[Finding]:
    """Look for what the user wrote and `x-when` says is not read beside the rest of the spec.

    It is read whatever that says where one of `x-also-when` holds.
    """

    def conditions(field: Field, key: str) -> Iterator[tuple[str, Any, list[Any]]]:
        for pointer, values in field.schema.get(key, {}).items():
            if split(pointer)[0] in long:
                yield pointer, reduce(getitem, split(pointer), long), values

    for field in fields():
        if field.pointer not in written:
            continue
        if any(value in values for _, value, values in conditions(field, "x-also-when")):
            continue
        for pointer, value, values in conditions(field, "x-when"):
            if value in values:
                continue
            other, words = dotted(pointer), " or ".join(f"`{word}`" for word in values)
            yield UNREAD_FIELD.finding(
                message=f"`{field.name}` is set, and nothing reads it where `{other}` is `{value}`",
                help=f"remove it, or set `{other}` to {words}",
                pointer=field.pointer,
                fix=({"op": "remove", "path": field.pointer},),
            )


def _two_lengths(long: Mapping[str, Any], _: frozenset[str]) -> Iterator[Finding]:
    training = long["training"]
    if training["max_steps"] is not None and training["epochs"] != "auto":
        yield TWO_LENGTHS.finding(
            message="both `training.epochs` and `training.max_steps` say when training ends",
            help="keep one of them",
            pointer="/training/max_steps",
        )


def _held_out(long: Mapping[str, Any], _: frozenset[str]) -> Iterator[Finding]:
    splits = long["data"]["splits"]
    held_out = splits["test"] + splits["validation"]
    if held_out >= _HELD_OUT_BELOW:
        yield NOTHING_TO_TRAIN.finding(
            message=f"test and validation take {held_out:.0%} of the rows",
            help="leave more than 10 % for training: lower `test` or `validation`",
            pointer="/data/splits",
        )


def _sources(long: Mapping[str, Any], _: frozenset[str]) -> Iterator[Finding]:
    """Look for one source or several, and for weights of all of them or of none."""
    one, several = long["data"]["source"], long["data"]["sources"]
    if one is None and several is None:
        yield MISSING_KEY.finding(
            message="`data.source` is missing",
            help='add it, such as `"source": "tickets.csv"`',
            pointer="/data/source",
        )
    if several is None:
        return
    if one is not None:
        yield SOURCE_BESIDE_SOURCES.finding(
            message="`data.source` is set beside `data.sources`",
            help="move it into the list, or remove one of the two",
            pointer="/data/source",
        )
    items = [item if isinstance(item, Mapping) else {} for item in several]
    weighed = ["weight" in item for item in items]
    for place, item in enumerate(items):
        if any(weighed) and not weighed[place]:
            yield WEIGHTS_OF_SOME.finding(
                message=f"`data.sources[{place}]` has no weight, and other sources have one",
                help="give every source a weight, or none",
                pointer=f"/data/sources/{place}",
            )
        if "max_repeats" in item and not any(weighed):
            yield UNWEIGHTED_REPEATS.finding(
                message=f"`data.sources[{place}].max_repeats` is set, and no source has a weight",
                help="remove it, or give every source a weight",
                pointer=f"/data/sources/{place}/max_repeats",
                fix=({"op": "remove", "path": f"/data/sources/{place}/max_repeats"},),
            )


def _columns(long: Mapping[str, Any], _: frozenset[str]) -> Iterator[Finding]:
    """Look for roles of another form; left open, it is the form that most roles belong to."""
    given = [role for role, column in long["data"]["columns"].items() if column is not None]
    form = long["data"]["form"]
    if form == "auto":
        form = max(_ROLES, key=lambda form: len(set(given) & set(_ROLES[form])))
    for role in given:
        if form != "auto" and role not in _ROLES[form]:
            yield FOREIGN_COLUMN.finding(
                message=f"`data.columns.{role}` is set, and rows of form `{form}` have no {role}",
                help=f"remove `{role}`, or set `data.form` to the form that has it",
                pointer=f"/data/columns/{role}",
            )


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
    return NOTHING_TO_MEASURE.finding(
        message=f"`{name}` is set, and `data.splits.{split}` is 0",
        help=f"remove it, or set `data.splits.{split}` above 0",
        pointer=pointer,
    )


_Check = Callable[[Mapping[str, Any], frozenset[str]], Iterator[Finding]]
_CHECKS: Final[tuple[tuple[frozenset[str], _Check], ...]] = (
    (frozenset(), _unread),
    (frozenset({"training"}), _two_lengths),
    (frozenset({"data"}), _held_out),
    (frozenset({"data"}), _sources),
    (frozenset({"data"}), _columns),
    (frozenset({"data", "training"}), _nothing_to_measure),
)
