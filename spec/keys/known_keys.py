"""Findings about unknown keys whose meaning is known: another tool's key, a factor, a remainder."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ftc.spec.findings.explanations import UNKNOWN_KEY
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote, shown
from ftc.spec.keys.foreign import Foreign, replace_key
from ftc.spec.keys.moving import ABSENT, Meant, move, read
from ftc.spec.keys.places import find_places
from ftc.spec.keys.products import Product
from ftc.spec.keys.remainder import Remainder
from ftc.spec.message import Message
from ftc.spec.pointer import dotted, join, parent, split
from ftc.spec.schema import Field, Schema, fields_by_pointer, read_schema
from ftc.spec.values.expectation import words_of
from ftc.spec.values.repair import Repair, find_repair, switches_off
from ftc.spec.values.synonyms import flags
from ftc.spec.values.verdict import is_valid

_COLUMNS: Final = "/data/columns"
#: Reasons that already say what to write.
_ADVISED: Final = frozenset(
    {"adapter", "lowest_rate", "registered", "rows", "short_rows", "upload", "warmup"}
)


def report_turned(here: str, section: Mapping[str, Any]) -> Finding | None:
    """Report `column: role` in `data.columns`, where ftc expects `role: column`."""
    column, role = split(here)[-1], section[split(here)[-1]]
    pointer = parent(here)
    if pointer != _COLUMNS or not isinstance(role, str) or role in section:
        return None
    if f"{pointer}/{role}" not in fields_by_pointer():
        return None
    steps = (
        {"op": "remove", "path": here},
        {"op": "add", "path": f"{pointer}/{role}", "value": column},
    )
    finding = UNKNOWN_KEY.finding(
        help="turned",
        pointer=here,
        fix=steps,
        section=dotted(pointer),
        key=shown(column),
        role=role,
    )
    return replace(finding, fix_safety="unsafe")


def report_dotted(here: str, value: Any, data: Mapping[str, Any]) -> Finding | None:
    """Report a field by its whole name at the top of a spec: `"training.epochs": 3`."""
    key = split(here)[-1]
    field = fields_by_pointer().get(join(key.split("."))) if "." in key else None
    if parent(here) or field is None:
        return None
    repair = None if is_valid(value, field.schema) else find_repair(value, field.schema)
    steps = move(data, here, Meant(pointer=field.pointer, safety="safe", repair=repair))
    above, _, last = field.name.rpartition(".")
    return UNKNOWN_KEY.finding(
        message="spec",
        help="dotted" if steps else "twice",
        pointer=here,
        fix=steps,
        key=shown(key),
        section=above,
        near=last if steps else field.name,
    )


def report_off(here: str, value: Any, data: Mapping[str, Any]) -> Finding | None:
    """Report a word of a field that is switched off, `"wandb": false`, or a field: `"eval": "no"`.

    A field with another value stays as it is. One with this value becomes `none`, if it takes that.
    """
    key = split(here)[-1].casefold()
    flag = flags().get(key) if switches_off(value) else None
    places = [fields_by_pointer().get(place) for place in find_places(key)]
    elsewhere = [
        field.schema["x-off-at"] for field in places if field and "x-off-at" in field.schema
    ]
    if switches_off(value) and elsewhere:
        led = {elsewhere[0]: fields_by_pointer()[elsewhere[0]].schema["x-off"]}
        other = Foreign(fields=led, reason="", pointer="", is_translated=False)
        return replace(report_foreign(other, here, data), fix_safety="unsafe")
    if value == "auto" and len(places) == 1 and _takes_no_auto(places[0]):
        other = Foreign(fields={}, reason="default_alike", pointer="", is_translated=False)
        return report_foreign(other, here, data)
    if flag is None:
        return None
    pointer, word = flag
    schema, present = fields_by_pointer()[pointer].schema, read(data, pointer)
    holds = schema.get("default") if present is ABSENT else present
    led = {pointer: "none"} if holds == word else {}
    if led and "none" not in words_of(schema):
        return None
    other = Foreign(fields=led, reason="" if led else "off", pointer="", is_translated=False)
    return report_foreign(other, here, data)


def _takes_no_auto(field: Field | None) -> bool:
    """Return whether a field has a value of its own where other tools find one out."""
    return field is not None and "default" in field.schema and not is_valid("auto", field.schema)


def find_wrapped(value: Any, pointer: str) -> tuple[str, ...]:
    """Return the keys of a top-level object that contains the sections of a spec, or none."""
    if pointer or not isinstance(value, Mapping):
        return ()
    known = read_schema()["properties"].keys()
    is_spec = {"model", "data"} & value.keys() and value.keys() <= known
    return tuple(value) if is_spec else ()


def report_wrapped(here: str, value: Any, data: Mapping[str, Any]) -> Finding | None:
    """Report a spec inside a spec, whose sections belong at the top level."""
    names = find_wrapped(value, parent(here))
    if not names:
        return None
    twice = any(name in data and data[name] != value[name] for name in names)
    steps = (
        {"op": "remove", "path": here},
        *({"op": "add", "path": join([name]), "value": value[name]} for name in names),
    )
    return UNKNOWN_KEY.finding(
        message="spec",
        help="wrapped",
        pointer=here,
        fix=() if twice else steps,
        key=shown(split(here)[-1]),
        keys=names,
    )


def report_foreign(other: Foreign, here: str, data: Mapping[str, Any]) -> Finding:
    """Report a key of another tool."""
    section, key = parent(here), split(here)[-1]
    pairs = tuple(pair(at, value) for at, value in other.fields.items())
    steps = replace_key(data, here, other.fields)
    ((at, value),) = other.fields.items() if len(other.fields) == 1 else (("", None),)
    same = at != "" and json.dumps(value) == json.dumps(read(data, here))  # 0 is not false
    help_ = "left" if other.reason else "near" if same else "value" if at else "fields"
    help_ = "why" if other.reason in _ADVISED else help_ if steps else "twice"
    return replace(
        UNKNOWN_KEY.finding(
            message="" if section else "spec",
            help=help_,
            pointer=here,
            fix=steps,
            section=dotted(section),
            key=shown(key),
            near=_short(at, section) if at else "`, `".join(map(dotted, other.fields)),
            meant=_brief(value),
            pairs=pairs,
            why=Message(f"left.{other.reason}") if other.reason else "",
        ),
        fix_safety=other.safety,
    )


def pair(pointer: str, value: Any) -> str:
    """Return a field with its value, as a line of YAML has them."""
    return f"{dotted(pointer)}: {_brief(value)}"


def show_example(example: Any) -> str | Message:
    """Return an example in backticks; objects and lists are shown in full."""
    is_whole = isinstance(example, Mapping | list)
    return f"`{json.dumps(example)}`" if is_whole else quote(example)


def _brief(value: Any) -> str:
    """Return a value as JSON, but a plain word without quotes."""
    return shown(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _short(pointer: str, section: str) -> str:
    """Return the name of a field, without its section in that section."""
    return split(pointer)[-1] if parent(pointer) == section else dotted(pointer)


def report_factor(
    product: Product, here: str, data: Mapping[str, Any], schema: Schema, pointer: str
) -> Finding:
    """Report a key that is a factor of a field: `gradient_accumulation_steps`."""
    steps: tuple[dict[str, Any], ...] = ()
    if product.value is not None:
        meant = Meant(
            pointer=product.pointer, safety="safe", repair=Repair(value=product.value, help="")
        )
        steps = move(data, here, meant)
    return UNKNOWN_KEY.finding(
        message="" if pointer else "spec",
        help=product.help,
        pointer=here,
        fix=steps,
        section=dotted(pointer),
        key=shown(split(here)[-1]),
        field=dotted(product.pointer),
        other=dotted(product.other),
        micro=product.micro,
        steps=product.steps,
        gpus=product.gpus,
        value=product.value or 0,
        keys=tuple(schema["properties"]),
    )


def report_remainder(remainder: Remainder, here: str, data: Mapping[str, Any]) -> Finding:
    """Report a key for what the other fields leave: `train` among the splits."""
    section = parent(here)
    led = {f"{section}/{remainder.field}": remainder.value} if remainder.field else {}
    steps = replace_key(data, here, led)
    counted = {f"{section}/{name}": share for name, share in remainder.counted.items()}
    steps += tuple({"op": "replace", "path": at, "value": share} for at, share in counted.items())
    finding = UNKNOWN_KEY.finding(
        help="remainder_of" if led else "counted" if counted else "remainder",
        pointer=here,
        fix=steps,
        pairs=tuple(f"{dotted(at)}: {share:g}" for at, share in counted.items()),
        section=dotted(section),
        key=shown(split(here)[-1]),
        field=dotted(f"{section}/{remainder.field}"),
        value=remainder.value,
        fields=tuple(dotted(f"{section}/{name}") for name in remainder.of),
    )
    return replace(finding, fix_safety=remainder.safety)
