"""Keys of other tools in a spec: the fields that they mean, or why ftc has no such field.

They are translated as `ftc import` translates them, beside the fields that the spec sets.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.spec.findings.finding import Safety
from ftc.spec.keys.moving import ABSENT, Meant, gives_way, move, read
from ftc.spec.normal import lengthen
from ftc.spec.patch import apply_patch
from ftc.spec.pointer import join, parent, split
from ftc.spec.schema import Schema, fields, fields_by_pointer, object_form, read_schema
from ftc.spec.tools.entry import Entry, flatten
from ftc.spec.tools.tables import WRITTEN, find_target, groups, read_table
from ftc.spec.tools.translation import translate
from ftc.spec.values.admission import admits
from ftc.spec.values.quantity import read_quantity
from ftc.spec.values.repair import Repair
from ftc.spec.values.synonyms import find_section

#: Reasons for which a key can be left out without a change of what is learned or produced.
_HARMLESS: Final = frozenset({
    "checkpoints", "class", "comment", "context_parallel", "default_alike", "empty", "evaluation",
    "file_format", "fixed", "hub", "kernels", "layout", "loading", "logging", "machine", "off",
    "output", "packing", "padding", "runtime", "text_part", "tokenizer", "tracker", "tracking",
    "watchdog",
})  # fmt: skip
#: Files of settings that are pasted into a spec: only a part of them has fields.
_CONFIGS: Final = frozenset({"deepspeed", "deepspeed_config", "ds_config", "fsdp_config"})
#: Names of these sections are chosen by the user, or everyday words.
_OWN_NAMES: Final = ("/data/columns", "/data/template_options")


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """What a key of another tool leads to: `fields` by pointer, or the `reason` to leave it out.

    `pointer` is that of the field if it does not take the value. `is_translated` is
    true if the tables say how its value is read. `drops` is true if a group of keys says more than
    its fields.
    """

    fields: Mapping[str, Any]
    reason: str
    pointer: str
    is_translated: bool
    drops: bool = False

    @property
    def safety(self) -> Safety:
        """The safety of the fix."""
        if self.drops:
            return "unsafe"
        return "safe" if self.fields or self.reason in _HARMLESS else "unsafe"


#: A key that has no value.
EMPTY: Final = Foreign(fields={}, reason="empty", pointer="", is_translated=False)


def find_foreign(
    key: str, section: Mapping[str, Any], pointer: str, data: Mapping[str, Any]
) -> Foreign | None:
    """Return what a key of a section means in another tool, or None if no tool has it.

    A text that no field takes may be a number: `100 steps`.
    """
    found = _translate(key, section, pointer, data)
    number = read_quantity(section[key]) if isinstance(section[key], str) else None
    if found is None or found.reason != "value" or number is None:
        return found
    return _translate(key, {**section, key: number}, pointer, data)


def _translate(
    key: str, section: Mapping[str, Any], pointer: str, data: Mapping[str, Any]
) -> Foreign | None:
    """Return what a key of a section means in another tool with this value."""
    if pointer.startswith(_OWN_NAMES) or any(part.isdecimal() for part in split(pointer)):
        return None
    table = read_table(WRITTEN)
    name = key.replace("-", "_")
    name = name if groups(table, name) else name.casefold()
    is_group = isinstance(section[key], Mapping) and find_section(name) is not None
    if isinstance(section[key], Mapping) and not (groups(table, name) or is_group):
        return None
    own = list(flatten({name: section[key]}))
    targets = [find_target(table, entry.path) for entry in own]
    if "-unknown" in targets:
        return None
    stated = {at: value for at, value in _stated(data) if admits(at, value)}
    others = [entry for entry in _others(data) if entry.path != name]
    found = translate(WRITTEN, [*others, *own], whole=False, beside=stated).keys
    mine = [each for each in found if each.key in {entry.path for entry in own}]
    led = {at: value for each in mine for at, value in each.fields.items()}
    if any(at not in fields_by_pointer() for at in led):
        return None
    reasons = [each.reason for each in mine if each.reason]
    drops = is_group and not _HARMLESS.issuperset(reasons)
    if drops and (not led or name not in _CONFIGS):
        return None  # the section says more
    known = any(target.startswith("@") for target in targets)
    reason = "" if led else min(reasons, default="")
    refusing = (*(each.pointer for each in mine if each.reason == "value"), targets[0])
    pointer = next((at for at in refusing if at in fields_by_pointer()), "")
    pointer = pointer if reason == "value" else ""
    return Foreign(fields=led, reason=reason, pointer=pointer, is_translated=known, drops=drops)


def replace_key(
    data: Mapping[str, Any], here: str, led: Mapping[str, Any]
) -> tuple[dict[str, Any], ...]:
    """Return the patch that puts fields in the place of a key; empty if one is set otherwise."""
    if len(led) == 1:
        ((pointer, value),) = led.items()
        same = json.dumps(value) == json.dumps(read(data, here))  # 0 is not false
        repair = None if same else Repair(value=value, help="")
        return move(data, here, Meant(pointer=pointer, safety="safe", repair=repair))
    steps: list[dict[str, Any]] = [{"op": "remove", "path": here}]
    patched = apply_patch(data, steps)
    for pointer, value in led.items():
        present = read(patched, pointer)
        meant = Meant(pointer=pointer, safety="safe", repair=Repair(value=value, help=""))
        if present == value:
            continue
        if present is not ABSENT and not gives_way(present, meant):
            return ()
        more = [*open_sections(patched, pointer), {"op": "add", "path": pointer, "value": value}]
        patched = apply_patch(patched, more)
        steps += more
    return tuple(steps)


def open_sections(data: Mapping[str, Any], pointer: str) -> Iterator[dict[str, Any]]:
    """Yield the steps that give a field the sections that it belongs to, in their long forms."""
    target: Any = data
    above = split(parent(pointer))
    for depth, name in enumerate(above, 1):
        place = join(above[:depth])
        if name not in target:
            yield {"op": "add", "path": place, "value": {}}
        inner = target.get(name, {})
        if not isinstance(inner, Mapping):
            inner = lengthen(name, inner)
            yield {"op": "replace", "path": place, "value": inner}
        target = inner if isinstance(inner, Mapping) else {}


def _stated(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the fields that a spec sets, with their pointers."""
    for field in fields():
        value = read(data, field.pointer)
        if value is not ABSENT and not isinstance(value, Mapping) and "x-short" not in field.schema:
            yield field.pointer, value


def _others(data: Mapping[str, Any]) -> Iterator[Entry]:
    """Yield the keys of other tools at the top of a spec and in its sections."""
    schema = read_schema()
    yield from _unknown(data, schema)
    for name, value in data.items():
        form = object_form(schema["properties"].get(name, {}))
        if isinstance(value, Mapping) and form is not None:
            yield from _unknown(value, form)


def _unknown(section: Mapping[str, Any], schema: Schema) -> Iterator[Entry]:
    for key, value in section.items():
        if key not in schema["properties"] and not isinstance(value, Mapping):
            yield Entry(path=key.casefold().replace("-", "_"), value=value)
