"""From the keys of a foreign config to the fields of a spec."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import reduce
from math import isfinite
from operator import getitem
from typing import Any, Final

from ftc.spec.normal import normalise
from ftc.spec.pointer import split
from ftc.spec.schema import asks_nothing, fields, find_unmet, read_schema
from ftc.spec.text.secrets import redact
from ftc.spec.tools.course import derive_course
from ftc.spec.tools.entry import Became, Entry, Imported, is_computed
from ftc.spec.tools.method import derive_method
from ftc.spec.tools.objective import (
    derive_continuation,
    derive_loss,
    derive_objective,
)
from ftc.spec.tools.rows import FindForm, derive_rows
from ftc.spec.tools.tables import (
    find_near,
    find_target,
    find_value,
    is_alike,
    name_tool,
    read_table,
)
from ftc.spec.tools.work import Work
from ftc.spec.values.admission import admits

_PLACE: Final = re.compile(
    r"\{\{.*\}\}|\$\{[^}]*\}|\$\([^)]*\)|<[a-z-]*your[a-z-]*>", re.IGNORECASE
)
_INNER: Final = re.compile(r"\$\{([\w.]+)\}")
_NAME: Final = re.compile(r"[^a-z0-9]+")
_PLAIN: Final = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d+)?(?:[eE][+-]?\d{1,3})?|(?i:true|false)")
#: Facts whose values are names.
_TEXTS: Final = re.compile(
    r"@data\.(?!max_rows).*|@\w*_?(?:run|project)|@system|@new_tokens|@template_option"
)
_LONGEST_NAME: Final = 63
FindTargets = Callable[[str], Sequence[str] | None]
FindUnfit = Callable[[Mapping[str, Any]], Iterable[tuple[str, str]]]


def translate(
    tool: str,
    entries: Sequence[Entry],
    *,
    whole: bool = True,
    gpus: int | None = None,
    registry: Mapping[str, Any] | None = None,
    beside: Mapping[str, Any] | None = None,
    find_unfit: FindUnfit | None = None,
    find_targets: FindTargets | None = None,
    find_form: FindForm | None = None,
) -> Imported:
    """Return what each key of a config became; of a snippet (not `whole`) nothing is assumed.

    `gpus` are those of all nodes. `registry` is LLaMA-Factory's list of data sets. `beside` has
    fields, by pointer, that are set already, and says that unread fields are kept. `find_unfit`
    returns the fields that do not fit the others, each with its reason. `find_targets` returns the
    modules that PEFT adapts in a model where a config names none, or None if that is not known.
    `find_form` returns the form of a file's rows, or None if it cannot be seen.
    """
    work = Work(table=read_table(tool), whole=whole, gpus=gpus, fields=dict(beside or {}))
    filled = _fill(entries)
    for entry in filled:
        _sort(work, entry)
    if whole:
        _assume(work, filled)
    derive_objective(work)
    derive_rows(work, registry or {}, find_form)
    derive_continuation(work)
    derive_loss(work)
    if whole:
        _assume_objective(work)
    derive_method(work)
    if find_targets is not None:
        _assume_targets(work, find_targets)
    derive_course(work)
    for fact in list(work.facts.values()):
        for entry in fact:
            if entry.path not in work.became:
                work.leave(entry, "unread")
    if beside is None:
        _drop_unread(work)
    _drop_conflicts(work)
    for pointer, why in find_unfit(work.fields) if find_unfit is not None else ():
        work.forget(pointer, why)
    own = {entry.path: entry.value for entry in filled}
    order = {path: index for index, path in enumerate(own)}
    known = sorted(work.became.values(), key=lambda each: order.get(each.key, len(order)))
    keys = tuple(replace(each, value=_hide(own.get(each.key, each.value))) for each in known)
    found = {at: value for at, value in work.fields.items() if at in work.sources}
    return Imported(tool=name_tool(tool), fields=found, keys=keys)


def build_spec(imported: Imported, name: str, *, hardware: str | None = None) -> dict[str, Any]:
    """Return the spec of the fields, in the schema's short forms where they say everything."""
    spec = {"name": make_name(name), **_nest(imported.fields)}
    if hardware is not None:
        spec["hardware"] = hardware
    for section, short in (("model", "id"), ("data", "source"), ("method", "type"),
                           ("objective", "type"), ("export", "types")):  # fmt: skip
        if isinstance(spec.get(section), dict) and spec[section].keys() == {short}:
            spec[section] = spec[section][short]
    return spec


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields, whose keys are pointers, as nested objects in the schema's order."""
    nested: dict[str, Any] = {}
    for pointer in sorted(flat, key=_place_of):
        inner = nested
        *above, last = split(pointer)
        for key in above:
            inner = inner.setdefault(key, {})
        inner[last] = flat[pointer]
    return nested


def make_name(text: str) -> str:
    """Return a run's name made of a file's name."""
    bare = _NAME.sub("-", text.lower()).strip("-")
    return bare[:_LONGEST_NAME].strip("-") or "imported"


def _place_of(pointer: str) -> tuple[int, int]:
    sections = list(read_schema()["properties"])
    pointers = [field.pointer for field in fields()]
    known = pointers.index(pointer) if pointer in pointers else len(pointers)
    return sections.index(split(pointer)[0]), known


def _fill(entries: Iterable[Entry]) -> list[Entry]:
    """Fill in what the file itself defines: `${output_dir}` stands for that key's value."""
    known = {entry.path: entry.value for entry in entries}

    def text(match: re.Match[str]) -> str:
        value = known.get(match[1])
        return str(value) if isinstance(value, str | int | float) else match[0]

    return [
        Entry(path=each.path, value=_INNER.sub(text, each.value))
        if isinstance(each.value, str)
        else each
        for each in entries
    ]


def _hide(value: Any) -> Any:
    """Return a value without what looks like a secret."""
    return redact(value) if isinstance(value, str) else value


def _sort(work: Work, entry: Entry) -> None:
    """Give a key to what reads it, or say at once why nothing does."""
    target = find_target(work.table, entry.path)
    entry = _bare(entry, target)
    value = entry.value
    unlike = target.startswith("=") and not is_alike(work.table, entry.path, value)
    if target.startswith("="):
        target = target[1:] if unlike else "-default_alike"
    if entry.path.startswith("later."):
        return work.leave(entry, "repeated")
    if isinstance(value, str) and redact(value) != value:
        return work.leave(entry, "secret")
    nothing = value == [] and target.startswith(("@", "!")) and target not in _LISTS
    if value is None or value in ("", {}) or nothing:
        return work.leave(entry, "empty")
    work.stated.add(target)
    if isinstance(value, float) and not isfinite(value):
        return work.leave(entry, "value")
    if isinstance(value, str) and _PLACE.search(value):
        return work.leave(entry, "templated")
    if is_computed(value) and not target.startswith("-") and target != "@responses_only":
        return work.leave(entry, "computed")
    if target.startswith("@"):
        work.facts.setdefault(target, []).append(entry)
        return None
    if target == "-unknown":
        return work.leave(entry, "unknown", near=find_near(work.table, entry.path))
    if target.startswith("-"):
        alike = is_alike(work.table, entry.path, value)
        other = target == "-default_alike" and value is False and not alike
        return work.leave(entry, "fixed" if other else target[1:])
    if target.startswith("!"):
        asked = unlike or value
        return work.refuse(entry, target[1:]) if asked else work.leave(entry, "off")
    return _carry(work, entry, target)


def _bare(entry: Entry, target: str) -> Entry:
    """Convert a number or a boolean that is written as text, as the other tools do."""
    value, pointer = entry.value, target.lstrip("=")
    if not isinstance(value, str) or _PLAIN.fullmatch(value) is None:
        return entry
    is_text = _TEXTS.fullmatch(pointer) is not None or (
        pointer[:1] == "/" and admits(pointer, value)
    )
    return entry if is_text else Entry(path=entry.path, value=json.loads(value.lower()))


def _carry(work: Work, entry: Entry, pointer: str) -> None:
    """Carry a value over to its field, in ftc's words."""
    try:
        value = find_value(work.table, pointer, entry.value)
    except KeyError:
        return work.leave(entry, _WITHOUT.get(pointer, "value"))
    if isinstance(value, list) and len(value) == 1 and not admits(pointer, value):
        value = value[0]
    if value is None:
        return work.leave(entry, "empty")
    if isinstance(value, float) and value.is_integer() and not admits(pointer, value):
        value = int(value)
    if pointer in _OFF and value in (0, False):
        return work.leave(entry, "off")
    if pointer == "/name" and isinstance(value, str):
        value = make_name(value)
    if not work.put(entry, pointer, value, "carried"):
        work.leave(entry, _WITHOUT.get(pointer, "value"))
    return None


def _assume(work: Work, entries: Sequence[Entry]) -> None:
    """Add the tool's own values for what the file leaves out, where ftc's differ."""
    asked = _asks_evaluation(entries)
    for case in work.table.absent:
        here = [_has(entries, pattern) for pattern in case.get("unless", ())]
        if any(here) or not _has(entries, case.get("when", "*")):
            continue
        for target, value in case["set"].items():
            if not (target == "@objective" and _names_objective(work)):
                held = target == "@holdout" and asked  # the rest is held out
                _default(work, target, "@test_share" if held else target, value)


def _assume_objective(work: Work) -> None:
    """Add the tool's own values for what the file leaves out that depend on the objective."""
    objective = str(work.fields.get("/objective/type", "sft"))
    for target, value in work.table.objectives.get(objective, {}).items():
        _default(work, target, target, value)


def _has(entries: Sequence[Entry], pattern: str) -> bool:
    return any(fnmatchcase(entry.path, pattern) for entry in entries)


def _default(work: Work, name: str, target: str, value: Any) -> None:
    """Set a value of the tool's own, unless the file or an earlier case states one."""
    if name in work.stated or target in work.facts or target in work.fields:
        return
    entry = Entry(path=f"({work.table.title}) {name.lstrip('@/')}", value=value)
    if target.startswith("@"):
        work.facts[target] = [entry]
    else:
        work.put(entry, target, value, "default")


def _assume_targets(work: Work, find_targets: FindTargets) -> None:
    """Add the modules that PEFT adapts by itself, which depend on the model's type."""
    if work.entry("@peft_targets") is None or work.fields.get("/method/type") not in _ADAPTERS:
        return
    if work.fields.keys() & {"/method/targets", "/method/target_pattern", "/method/experts"}:
        return
    names = find_targets(str(work.fields.get("/model/id", "")))
    entry = Entry(path="(PEFT) target_modules", value=list(names) if names else None)
    if names:
        work.put(entry, "/method/targets", entry.value, "default")
    else:
        work.became[entry.path] = Became(
            key=entry.path, value=None, kind="default", fields={}, reason="peft_targets"
        )


def _asks_evaluation(entries: Sequence[Entry]) -> bool:
    """Return whether a file asks for evaluations, for which ftc holds out rows."""
    return any(
        (each.key in _EVALUATED and each.value in ("steps", "epoch"))
        or (each.key in _EVALUATED_ON and bool(each.value))
        for each in entries
    )


def _names_objective(work: Work) -> bool:
    return any(name in work.facts for name in ("@rl", "@stage", "@command", "@trainer"))


def _drop_unread(work: Work) -> None:
    """Take back the fields that this spec would not read."""
    long = normalise(_nest(work.fields))

    def look(pointer: str) -> Any:
        return reduce(getitem, split(pointer), long)

    for pointer in list(work.sources):
        schema = _schema(pointer)
        assumed = work.sources[pointer].path.startswith("(")
        if schema is None or (not assumed and asks_nothing(schema, work.fields[pointer], look)):
            continue
        try:
            unmet = any(find_unmet(schema, look))
        except KeyError:
            continue
        if unmet:
            work.forget(pointer, "unread")


def _drop_conflicts(work: Work) -> None:
    """Take back what ftc does not combine with the rest, where only speed is at stake."""
    cases = (
        ("/training/evaluation/every_steps", "/data/splits/validation", (0,), "evaluation"),
        ("/training/group_by_length", "/data/packing", ("best-fit",), "packing"),
        ("/training/compile", "/method/type", ("qlora",), "kernels"),
        ("/data/streaming", "/objective/type", ("embed",), "whole_data"),
    )
    for pointer, other, values, reason in cases:
        if pointer in work.sources and work.fields[pointer] and work.fields.get(other) in values:
            work.forget(pointer, reason)
    micro = "/training/micro_batch"
    alone = micro in work.sources and work.fields[micro] == 1
    if alone and work.fields.get("/objective/type") == "kto":
        work.forget(micro, "one_row")


def _schema(pointer: str) -> Any:
    return next((field.schema for field in fields() if field.pointer == pointer), None)


#: Fields whose value is null or absent where they are off.
_OFF: Final = frozenset(
    {"/training/neftune", "/training/early_stopping", "/training/evaluation/every_steps",
     "/training/label_smoothing", "/objective/label_smoothing", "/method/loraplus_ratio"}
)  # fmt: skip
_ADAPTERS: Final = ("lora", "qlora")
#: Facts that an empty list states.
_LISTS: Final = ("@tracker",)
#: Keys that say when a run evaluates, and keys for the rows that it evaluates on.
_EVALUATED: Final = ("eval_strategy", "evaluation_strategy")
_EVALUATED_ON: Final = ("eval_dataset",)
#: Why a value that a field does not take is left.
_WITHOUT: Final = {
    "/training/optimizer": "optimizer",
    "/model/attention": "kernels",
    "/training/evaluation/every_steps": "evaluation",
    "/data/source": "data",
    "/method/init": "adapter_setting",
}
