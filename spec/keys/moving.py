"""Moving the value of a key to another field: the patch, and what prevents it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.spec.findings.finding import Safety
from ftc.spec.normal import lengthen
from ftc.spec.pointer import join, parent, split
from ftc.spec.schema import fields_by_pointer, find_unmet
from ftc.spec.values.repair import Repair, find_repair
from ftc.spec.values.verdict import is_valid

#: There is no value at a pointer.
ABSENT: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The field that an unknown key most likely means.

    `safety` is that of renaming the key: `unsafe` for the most similar of several names, None if
    another program means another quantity by it. `repair` has the value for the field, if the field
    does not accept the written one.
    """

    pointer: str
    safety: Safety | None
    repair: Repair | None = None


def move(data: Mapping[str, Any], here: str, meant: Meant | None) -> tuple[dict[str, Any], ...]:
    """Return the patch that renames or moves the key; empty if that is not possible.

    If the target already has the same value, the patch removes the key. A section in its short
    form is written in its long form first.
    """
    if meant is None or meant.safety is None or meant.pointer == here:
        return ()
    present = read(data, meant.pointer)
    if present is not ABSENT and not gives_way(present, meant):
        value = meant.repair.value if meant.repair else read(data, here)
        if isinstance(value, Mapping) and meant.pointer.count("/") == 1:
            return _merge(data, here, meant.pointer)
        same = json.dumps(present) == json.dumps(value) and not differs_beside(data, meant)
        return ({"op": "remove", "path": here}, *_set_beside(data, meant)) if same else ()
    *sections, _ = split(meant.pointer)
    target: Any = data
    steps: list[dict[str, Any]] = []
    for depth, name in enumerate(sections, 1):
        place = join(sections[:depth])
        if isinstance(target, list):  # the key itself is in this item
            target = target[int(name)]
            continue
        if name not in target:
            steps.append({"op": "add", "path": place, "value": {}})
        target = target.get(name, {})
        item = isinstance(target, list) and depth < len(sections) and sections[depth].isdigit()
        short = isinstance(target, str | list) and not item
        if short and isinstance(long := lengthen(name, target), Mapping):
            steps.append({"op": "replace", "path": place, "value": long})
            target = long
        if not (isinstance(target, Mapping) or item):
            return ()
    steps.append({"op": "move", "from": here, "path": meant.pointer})
    if meant.repair is not None:
        steps.append({"op": "replace", "path": meant.pointer, "value": meant.repair.value})
    return (*steps, *_set_beside(data, meant))


def _merge(data: Mapping[str, Any], here: str, there: str) -> tuple[dict[str, Any], ...]:
    """Return the patch that moves all keys of a section into another; empty if they share one."""
    (section,) = split(there)
    moved, present = read(data, here), lengthen(section, data[section])
    if not isinstance(present, Mapping) or not moved or moved.keys() & present.keys():
        return ()
    steps: list[dict[str, Any]] = []
    if present is not data[section]:  # the short form
        steps.append({"op": "replace", "path": there, "value": dict(present)})
    steps += [
        {"op": "move", "from": here + join([key]), "path": there + join([key])} for key in moved
    ]
    return (*steps, {"op": "remove", "path": here})


def is_unread(data: Mapping[str, Any], meant: Meant, key: str) -> bool:
    """Return whether a key has another name than the field, which nothing reads in this spec.

    The name then more likely means something else, and a rename would lose the value: a field that
    is not read is left out. Fields that the fix sets beside it count as set.
    """
    field = fields_by_pointer().get(meant.pointer)
    beside = {step["path"]: step["value"] for step in _set_beside(data, meant)}

    def look(pointer: str) -> Any:
        present = beside.get(pointer, read(data, pointer))
        schema = fields_by_pointer()[pointer].schema
        if present is ABSENT:
            return schema["default"]
        if not is_valid(present, schema):
            raise KeyError(pointer)
        return present

    if field is None or key == split(meant.pointer)[-1]:
        return False
    return any(find_unmet(field.schema, look))


def _set_beside(data: Mapping[str, Any], meant: Meant) -> Iterator[dict[str, Any]]:
    """Yield the steps that set the other fields that the value gives or that its field requires."""
    above = parent(meant.pointer)
    beside = dict(meant.repair.beside) if meant.repair is not None else {}
    for name, value in beside.items():
        if read(data, f"{above}/{name}") is ABSENT:
            yield {"op": "add", "path": f"{above}/{name}", "value": value}
    field = fields_by_pointer().get(meant.pointer)
    for pointer, values in (field.schema.get("x-when", {}) if field else {}).items():
        other = fields_by_pointer()[pointer]
        if len(values) != 1 or parent(pointer) != above:
            continue
        present = read(data, pointer)
        value = other.schema["default"] if present is ABSENT else present
        if value in other.schema.get("x-refines", {}).get(values[0], ()):
            yield {"op": "add", "path": pointer, "value": values[0]}


def differs_beside(data: Mapping[str, Any], meant: Meant) -> bool:
    """Return whether another field that the value gives is set to something else: another GPU."""
    above, beside = parent(meant.pointer), meant.repair.beside if meant.repair is not None else {}
    stated = {name: read(data, f"{above}/{name}") for name in beside}
    return any(
        held is not ABSENT and str(held).casefold() not in (beside[name].casefold(), "auto")
        for name, held in stated.items()
    )


def gives_way(present: Any, meant: Meant) -> bool:
    """Return whether the meant value may replace the present one.

    It may if it is more exact, as `qlora` is for `lora`, or if the field does not accept the
    present value and that has no repair.
    """
    field = fields_by_pointer().get(meant.pointer)
    if field is None or meant.safety is None or meant.repair is None:
        return False
    if not is_valid(present, field.schema):
        return find_repair(present, field.schema) is None
    return present in field.schema.get("x-refines", {}).get(meant.repair.value, ())


def advise(data: Mapping[str, Any], meant: Meant | None, *, merges: bool) -> str:
    """Return the variant of the help: it names the field or its value, or says that it is set.

    `merges` is true if the fix adds the keys of a section to those that are already there.
    """
    if meant is None:
        return ""
    present = read(data, meant.pointer)
    if present is not ABSENT and not gives_way(present, meant) and not merges:
        if meant.repair is None:
            return "twice"
        if present != meant.repair.value:
            return "otherwise"
        return "beside" if differs_beside(data, meant) else "same"
    return "near" if meant.repair is None else "value"


def read(data: Mapping[str, Any], pointer: str) -> Any:
    """Return the value at a pointer of the long form, or ABSENT."""
    section, *inside = split(pointer)
    if section not in data:
        return ABSENT
    found = lengthen(section, data[section]) if inside else data[section]
    for key in inside:
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return ABSENT
    return found
