"""Finds the value that a user meant when the field does not accept the one in the spec."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any, Final

from ftc.spec.columns.usual_names import find_roles
from ftc.spec.findings.finding import Safety
from ftc.spec.findings.quote import shown
from ftc.spec.patch import merge_objects
from ftc.spec.schema import Schema, branches, object_form
from ftc.spec.values.expectation import words_of
from ftc.spec.values.nearest import find_alike, is_certain, nearest
from ftc.spec.values.phrases import find_others, split_words
from ftc.spec.values.quantity import (
    is_grouped,
    read_gbit,
    read_quantity,
    read_resource,
    read_seconds,
    read_unit,
)
from ftc.spec.values.synonyms import SWITCHES, find_stated, find_synonym, find_word
from ftc.spec.values.verdict import is_valid

_NO_FIELDS: Final[Mapping[str, Schema]] = {}
_LONGEST: Final = 100
_MEMORY: Final = re.compile(r"\d+ ?gi?b?", re.IGNORECASE)
_LEAST_MODEL_NUMBER: Final = 100
_BETWEEN: Final = re.compile(r"\s*[,;]\s*|\s+")
#: What divides thousands in Python and YAML 1.1: `1_000`.
_UNDERSCORE: Final = re.compile(r"(?<=\d)_(?=\d{3}(?!\d))")
#: A number with a decimal comma.
_COMMA: Final = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
#: Further words that turn off a field that takes no boolean.
_OFF: Final = frozenset({"none", "null", "false", "disabled", "disable", "never"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The value that was meant, and the variant of the help text that names it.

    `safety` is that of the fix. `exact` is true if the text names its quantity, for example by a
    unit, so that the field is certain too. `beside` has values of the same text for other fields.
    """

    value: Any
    help: str
    safety: Safety = "safe"
    exact: bool = False
    beside: Mapping[str, Any] = dataclass_field(default_factory=dict)

    @property
    def shown(self) -> str:
        """Return the value as JSON, but a plain word without quotes."""
        value = self.value
        return shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def find_repair(
    value: Any,
    field: Schema,
    named: Schema | None = None,
    *,
    others: Mapping[str, Schema] = _NO_FIELDS,
) -> Repair | None:
    """Return the repair of a value that the field does not accept, or None if there is none.

    A certain repair is `safe`, and a guess is `unsafe`. `named` is the schema with the field's
    synonyms, if `field` is the short form of a section. `others` are the other fields of its
    section, which a text may give values too.
    """
    word = find_stated(value, named or field)
    if word is not None and is_valid(word, field):
        return Repair(value=word, help="near")
    alike = find_alike(value, words_of(field)) if isinstance(value, str) else None
    if alike is not None and alike != value:
        return Repair(value=alike, help="near")
    off = next((each for each in ("none", "off") if each in words_of(field)), None)
    off = (named or field).get("x-off", field.get("x-off", off))
    if off is not None and switches_off(value) and is_valid(off, field):
        return Repair(
            value=off, help="near", safety="unsafe" if isinstance(off, Mapping) else "safe"
        )
    return (
        _named_columns(value, field)
        or _merged(value, field)
        or _keyed(value, field)
        or _each(value, field)
        or _certain(value, field)
        or _number(value, field)
        or _quoted(value, field)
        or _counted(value, named or field)
        or _indexed(value, named or field)
        or _contained(value, named or field, field, others)
    )


def _each(value: Any, field: Schema) -> Repair | None:
    """Return the repair of a list of words, if the meaning of each item is certain."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return None
    meant = _meant_items(value, field)
    return Repair(value=meant, help="near") if meant and meant != value else None


def _merged(value: Any, field: Schema) -> Repair | None:
    """Return the object of a list of objects without a key in common: a dash before each key."""
    merged = merge_objects(value) if object_form(field) is not None else None
    return Repair(value=merged, help="near") if merged and is_valid(merged, field) else None


def _keyed(value: Any, field: Schema) -> Repair | None:
    """Return the list of objects for an object whose keys name them: `{"a.csv": 0.7}`.

    `x-keyed` has the fields of the names and of the numbers. So are single keys in a list.
    """
    said = merge_objects(value) if isinstance(value, list) else value
    keyed = field.get("x-keyed")
    if keyed is None or not isinstance(said, Mapping):
        return None
    items = []
    for name, inner in said.items():
        rest = inner if isinstance(inner, Mapping) else {keyed["number"]: inner}
        items.append({keyed["name"]: name, **({} if inner is None else rest)})
    return Repair(value=items, help="near") if items and is_valid(items, field) else None


def _counted(value: Any, field: Schema) -> Repair | None:
    """Return one item and how many there are: of `["A100", "A100"]`, or of `{"A100": 2}`.

    The field that counts them is `x-count`.
    """
    name = field.get("x-count", "")
    if name and isinstance(value, Mapping) and len(value) == 1:
        ((item, count),) = value.items()
        return find_counted_item(item, count, field)
    if not name or not isinstance(value, list) or len({*map(str, value)}) != 1:
        return None
    if not is_valid(value[0], field):
        return None
    return Repair(value=value[0], help="near", beside={name: len(value)})


def _indexed(value: Any, field: Schema) -> Repair | None:
    """Return how many devices a list of their numbers names: `[0, 1]` or `0,1` (`x-indices`)."""
    if "x-indices" not in field:
        return None
    parts = value.split(",") if isinstance(value, str) else value
    said = [str(part).strip() for part in parts] if isinstance(parts, list) else []
    if not said or len({*said}) != len(said) or not all(map(str.isdecimal, said)):
        return None
    return Repair(value=len(said), help="near") if is_valid(len(said), field) else None


def find_counted_item(item: str, count: Any, field: Schema) -> Repair | None:
    """Return the value of a field that is a key, with the number of them or their memory beside it.

    Only names with a digit are taken (`A100`, `RTX 4090`): other keys are misspelt ones.
    """
    name = field.get("x-count", "")
    if not name or not re.search(r"\d", item) or not is_valid(item, field):
        return None
    if count is True or count is None:
        return Repair(value=item, help="near")
    if isinstance(count, str) and _MEMORY.fullmatch(count.strip()):
        return Repair(value=f"{item}-{count.strip().replace(' ', '')}", help="near")
    number = int(count) if isinstance(count, str) and count.strip().isdecimal() else count
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        return None
    return Repair(value=item, help="near", beside={name: number})


def _contained(
    value: Any, named: Schema, field: Schema, others: Mapping[str, Schema]
) -> Repair | None:
    """Return the repair of a text with exactly one word of the field: `ds_config_zero3.json`."""
    if not isinstance(value, str) or len(value) > _LONGEST or "items" in field:
        return None
    parts = {*value.split(), *split_words(value), *re.split(r"[^A-Za-z0-9]+", value)}
    found = {find_word(part, named) for part in parts if part and part != "auto"} - {None}
    found -= {less for more in found for less in named.get("x-refines", {}).get(more, ())}
    meant = next(iter(found), None)
    if len(found) != 1 or meant == value or not is_valid(meant, field):
        return None
    beside = find_others(value, named, others)
    if beside is None:
        return None
    return Repair(value=meant, help="near", safety="unsafe", beside=beside)


def is_switch(value: str) -> bool:
    """Return whether a text is a word for true or false, which is no misspelling: `on`, `no`."""
    return value.strip().casefold() in SWITCHES


def says_yes(value: Any) -> bool:
    """Return whether a value only says yes: true, `yes`, `on`."""
    if not isinstance(value, str):
        return value is True
    word = value.strip().casefold()
    return word == "true" or SWITCHES.get(word) is True


def switches_off(value: Any) -> bool:
    """Return whether a value turns a field off: false, `off`, `none`."""
    if not isinstance(value, str):
        return value is False
    word = value.strip().casefold()
    return word in _OFF or SWITCHES.get(word) is False


def _named_columns(value: Any, field: Schema) -> Repair | None:
    """Return the object for a list of property names or of usual column names.

    Each name is the value of its property, or of its role.
    """
    form = object_form(field)
    names = [value] if isinstance(value, str) else value
    if form is None or not isinstance(names, list) or not names:
        return None
    if not all(isinstance(name, str) for name in names):
        return None
    meant = {name: name for name in names}
    if not meant.keys() <= form["properties"].keys():
        meant = {role: name for name, role in find_roles(names).items()}
    if not meant:
        return None
    return Repair(value=meant, help="near") if is_valid(meant, field) else None


def _certain(value: Any, field: Schema) -> Repair | None:
    """Return a quoted number or boolean without quotes, or one or several items as a list."""
    if isinstance(value, str) and (items := _split(value, field)):
        return Repair(value=items, help="list")
    if is_valid([value], field) and not switches_off(value):
        return Repair(value=[value], help="list")
    if isinstance(value, list) and len(value) == 1 and is_valid(value[0], field):
        return Repair(value=value[0], help="near")
    if isinstance(value, str):
        with suppress(ValueError):
            text = value[:_LONGEST].strip().removesuffix(",")  # as a line of JSON ends
            bare = json.loads(_UNDERSCORE.sub("", text).lower())
            if bare is not None and is_valid(bare, field):
                return Repair(value=bare, help="bare" if text == value.strip() else "near")
            value = bare
        switch = SWITCHES.get(value.casefold()) if isinstance(value, str) else None
        if switch is not None and is_valid(switch, field):
            return Repair(value=switch, help="near")
    if value in (0, 1) and not isinstance(value, bool) and is_valid(bool(value), field):
        return Repair(value=bool(value), help="near")
    return None


def _split(text: str, field: Schema) -> list[str] | None:
    """Return the items of a list that is written as one text: `q4_k_m, q8_0`."""
    if len(text) > _LONGEST:
        return None
    return _meant_items([part for part in _BETWEEN.split(text.strip()) if part], field)


def _meant_items(parts: list[str], field: Schema) -> list[str] | None:
    """Return the values that the items of a list mean, or None if that is not certain."""
    items = next((it["items"] for it in branches(field) if "items" in it), None)
    if items is None:
        return None
    words = words_of(items)
    meant = [nearest(part, words) or part for part in parts] if words else parts
    is_sure = all(
        is_certain(part, each, words) for part, each in zip(parts, meant, strict=True) if words
    )
    return meant if is_sure and len(parts) > (not words) and is_valid(meant, field) else None


def _number(value: Any, field: Schema) -> Repair | None:
    """Return the number that a text stands for: 64 for `64 GB`. A time is in the field's unit.

    In lengths in tokens `4k` is 4,096, as the contexts of models are counted (`x-kilo`). A
    percentage is certain, and so is a number with the field's own unit (`x-units`): `4096 tokens`.
    """
    if not isinstance(value, str):
        return None
    name = field.get("x-resource", "")
    if name and (resource := read_resource(value)) and is_valid(resource.count, field):
        beside = {name: resource.kind} if resource.kind else {}
        return Repair(value=resource.count, help="near", exact=True, beside=beside)
    if "x-rate" in field:
        named = {find_synonym(word, field) for word in value.split()} - {None}
        rate = min(named) if len(named) == 1 else read_gbit(value)
        if rate is not None and is_valid(rate, field):
            return Repair(value=rate, help="near", exact=True)
    number = read_quantity(value, kilo=field.get("x-kilo", 1000))
    prefix = () if "x-kilo" in field else ("k",)
    has_unit = (  # so nothing else is meant
        read_unit(value) in ("%", *prefix, *field.get("x-units", ()))
        or (_COMMA.fullmatch(value.strip()) is not None and not is_grouped(value.strip()))
    )
    is_time = False
    if (seconds := field.get("x-seconds")) and (time := read_seconds(value)) is not None:
        is_time = True
        number = _whole(time / seconds)
        has_unit = value.count(":") != 1  # two numbers of a clock may be minutes and seconds
    if number is None or not is_valid(number, field):
        return None
    safety: Safety = "safe" if has_unit else "unsafe"
    return Repair(value=number, help="near", safety=safety, exact=is_time and has_unit)


def _quoted(value: Any, field: Schema) -> Repair | None:
    """Return the text of a whole number that may be a name or a GPU: 4090 is `"4090"`.

    A field that takes a path is no name: no file and no model is called 5. Nor is a GPU called 8:
    that is how many there are.
    """
    is_gpu = field.get("x-short") == "gpu"
    if not (is_gpu or not is_valid("a/b", field)) or not isinstance(value, int):
        return None
    if isinstance(value, bool) or (is_gpu and value < _LEAST_MODEL_NUMBER):
        return None
    if not is_valid(str(value), field):
        return None
    return Repair(value=str(value), help="quoted")


def _whole(number: float) -> int | float:
    return int(number) if number.is_integer() else round(number, 4)
