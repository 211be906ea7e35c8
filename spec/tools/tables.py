"""The tables of other tools' keys: which field a key means, and how a config is recognised.

A target is a pointer ("/method/rank"), the name of a fact that `derive` reads ("@adapter"), the
reason that a key is left ("-logging"), or the reason that its config is refused ("!modality"). "="
before a target says that it holds for other values than those under `alike`, which are what ftc
does by itself.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ftc.spec.message import Message
from ftc.spec.schema import fields, fields_by_pointer
from ftc.spec.values.nearest import is_certain, nearest
from ftc.spec.values.synonyms import find_synonym

TOOLS: Final = ("torchtune", "unsloth", "axolotl", "llamafactory", "trl")
TRL_SCRIPT: Final = "trl script"
#: Keys of any tool that are written in a spec. Those of torchtune are everyday words there.
WRITTEN: Final = "written"
_INDEX: Final = re.compile(r"\[\d+\]")
_FEWEST_MARKS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One tool's keys; `needs` are keys of which a config has at least one.

    `absent` has what the tool does where its config leaves a key out: each case has patterns of
    keys that must be there (`when`), and of those that must not (`unless`). `objectives` has the
    same by objective.
    """

    title: str
    marks: Collection[str]
    needs: Collection[str]
    keys: Mapping[str, str]
    values: Mapping[str, Mapping[str, Any]]
    alike: Mapping[str, list[Any]]
    absent: tuple[Mapping[str, Any], ...]
    objectives: Mapping[str, Mapping[str, Any]]
    otherwise: Mapping[str, str]


def read_table(tool: str) -> Table:
    """Return the table of a tool; "" gives that of a snippet, which may be any tool's.

    A script that sets up TRL's trainers itself has the keys of Unsloth's scripts, which do so too,
    and the defaults of TRL.
    """
    if tool == TRL_SCRIPT:
        trl, absent = _read("trl"), tuple(_json("trl")["script"])
        return replace(_read("unsloth"), title=trl.title, absent=absent, objectives=trl.objectives)
    if tool == WRITTEN:
        return _written()
    return _snippets() if not tool else _read(tool)


def name_tool(tool: str) -> str:
    """Return the name of a tool whose table this is."""
    return "trl" if tool == TRL_SCRIPT else tool


def recognise(paths: Collection[str]) -> str:
    """Return the tool whose config has these keys, or "".

    If several tools have enough marks, the one that knows the most keys is returned. Among equals,
    the one with the most marks is returned.
    """
    bare = {_INDEX.sub("", path) for path in paths}
    tops = bare | {part for path in bare for part in _ancestors(path)}
    best, most = "", (-len(paths) - 1, 0)
    for tool in TOOLS:
        table = _read(tool)
        marks = sum(mark in tops for mark in table.marks)
        if marks < _FEWEST_MARKS or (table.needs and tops.isdisjoint(table.needs)):
            continue
        if (rank := (-count_unknown(table, paths), marks)) > most:
            best, most = tool, rank
    return best


def count_unknown(table: Table, paths: Collection[str]) -> int:
    """Return how many keys a table does not know."""
    return sum(find_target(table, path) == "-unknown" for path in paths)


def find_target(table: Table, path: str) -> str:
    """Return what a key means: its whole path first, then its last part, then the patterns.

    `otherwise` comes last: what is left of a call whose other arguments have names of their own.
    A key of a snippet may also be one of the names by which the schema knows a field.
    """
    bare = _INDEX.sub("[]", path)
    last = bare.rpartition(".")[2]
    common = _common()["keys"]
    for keys, name in ((table.keys, bare), (common, bare), (table.keys, last)):
        if name in keys and "*" not in name:
            known = str(keys[name])
            return known if table.title or known[0] != "-" else _aliases().get(last, known)
    found = _match(table.keys, bare) or common.get(last) or _match(common, bare)
    if table.title:
        return str(found or _match(table.otherwise, bare) or "-unknown")
    return str(found or _aliases().get(last, "-unknown"))


def is_alike(table: Table, path: str, value: Any) -> bool:
    """Return whether a value of a key is what ftc does by itself."""
    bare = _INDEX.sub("[]", path)
    names = (bare, bare.rpartition(".")[2])
    return any(value in table.alike[name] for name in names if name in table.alike)


def groups(table: Table, name: str) -> bool:
    """Return whether a tool has this key with an object as its value."""
    known = (*table.keys, *_common()["keys"])
    return find_target(table, name) != "-unknown" or any(k.startswith(f"{name}.") for k in known)


def _match(keys: Mapping[str, str], path: str) -> str | None:
    """Return what the first pattern for a path means."""
    bare = path.replace("[]", "")
    patterns = ((name, target) for name, target in keys.items() if "*" in name)
    return next((to for name, to in patterns if fnmatchcase(bare, name.replace("[]", ""))), None)


def find_value(table: Table, target: str, value: Any) -> Any:
    """Return a value in ftc's terms; KeyError if the table says that there is none."""
    said = json.dumps(value) if isinstance(value, bool) else str(value)
    for values in (table.values, _common()["values"]):
        for name, meant in values.get(target, {}).items():
            if fnmatchcase(said, name):
                if meant is None:
                    raise KeyError(said)
                return meant
    field = fields_by_pointer().get(target)
    found = find_synonym(value, field.schema) if field else None
    return value if found is None else found


def find_near(table: Table, path: str) -> str:
    """Return the known key that an unknown key misspells, or ""."""
    known = {name.rpartition(".")[2] for name in (*table.keys, *_common()["keys"])}
    last = path.rpartition(".")[2]
    near = nearest(last, known)
    return near if near is not None and is_certain(last, near, known) else ""


def reason(name: str, near: str = "") -> str:
    """Return the sentence of a reason; `near` is the known key similar to an unknown one."""
    return str(Message(f"left.{name}.near", {"near": near}) if near else Message(f"left.{name}"))


def _ancestors(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


@cache
def _read(tool: str) -> Table:
    data = _json(tool)
    return Table(
        title=data["title"],
        marks=data["marks"],
        needs=data["needs"],
        keys=data["keys"],
        values=data["values"],
        alike={**_common()["alike"], **data.get("alike", {})},
        absent=tuple(data["absent"]),
        objectives=_read_objectives(data),
        otherwise=data.get("otherwise", {}),
    )


def _read_objectives(data: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return a tool's defaults by objective: its own come before those of the trainers of TRL."""
    groups = [_json("trainers")[name] for name in data.get("trainers", ())]
    merged: dict[str, dict[str, Any]] = {}
    for group in (*groups, data.get("objectives", {})):
        for objective, defaults in group.items():
            merged[objective] = {**merged.get(objective, {}), **defaults}
    return merged


@cache
def _snippets() -> Table:
    """Return the tables one above the other: of a snippet nobody knows which tool wrote it."""
    return _stack(TOOLS)


@cache
def _written() -> Table:
    """Return the tables as they apply to a spec, where some keys have meanings of their own."""
    table = _stack(tuple(tool for tool in TOOLS if tool != "torchtune"))
    return replace(table, title=WRITTEN, keys={**table.keys, **_common()["written"]})


def _stack(tools: Sequence[str]) -> Table:
    keys: dict[str, str] = {}
    values: dict[str, dict[str, Any]] = {}
    alike: dict[str, list[Any]] = {}
    for tool in reversed(tools):
        table = _read(tool)
        keys = {**table.keys, **keys}
        alike = {**table.alike, **alike}
        for target, meanings in table.values.items():
            values[target] = {**meanings, **values.get(target, {})}
    return Table(
        title="",
        marks=(),
        needs=(),
        keys=keys,
        values=values,
        alike=alike,
        absent=(),
        objectives={},
        otherwise={},
    )


@cache
def _aliases() -> Mapping[str, str]:
    """Return the pointer of each of the schema's names that only one field has."""
    named: dict[str, set[str]] = {}
    for field in fields():
        if field.pointer.count("/") > 1:
            for name in (field.pointer.rpartition("/")[2], *field.schema.get("x-aliases", ())):
                named.setdefault(name, set()).add(field.pointer)
    return {name: min(found) for name, found in named.items() if len(found) == 1}


@cache
def _common() -> Mapping[str, Any]:
    return _json("common")


@cache
def _json(name: str) -> Mapping[str, Any]:
    text = (files("ftc.spec.tools") / f"{name}.json").read_text(encoding="utf-8")
    return dict(json.loads(text))
