"""Keys that the language does not have, keys that it needs, and what was most likely meant."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ftc.spec.finding import Finding
from ftc.spec.nearest import is_certain, nearest
from ftc.spec.pages import MISSING_KEY, PLANNED_FIELD, UNKNOWN_KEY
from ftc.spec.pointer import dotted, join, parent, split
from ftc.spec.quote import quote, shown
from ftc.spec.schema import Schema, fields, read_planned

_MOST_KEYS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The pointer of the field that an unknown key was most likely meant for."""

    pointer: str
    certain: bool


def unknown_keys(
    data: Mapping[str, Any], pointer: str, section: Mapping[str, Any], schema: Schema
) -> Iterator[Finding]:
    """Yield a finding for each key of the section that its schema does not have."""
    for key in _unknown(section, schema):
        here = pointer + join([key])
        meant = _meant(key, pointer, schema)
        planned = _planned(meant.pointer if meant else here)
        if planned is not None:
            name = dotted(meant.pointer if meant else here)
            exact = name == dotted(here)
            what = "is planned, not yet there" if exact else "is not a key"
            asked = "" if exact else f"did you mean `{name}`? it is planned, not yet there: "
            yield PLANNED_FIELD.finding(
                message=f"`{shown(dotted(here))}` {what}",
                help=f"{asked}{planned}",
                pointer=here,
            )
            continue
        where = f"`{dotted(pointer)}`" if pointer else "a spec"
        yield UNKNOWN_KEY.finding(
            message=f"{where} has no key `{shown(key)}`",
            help=_advice(meant, pointer, schema),
            pointer=here,
            fix=_move(data, here, meant),
        )


def missing_keys(pointer: str, section: Mapping[str, Any], schema: Schema) -> Iterator[Finding]:
    """Yield a finding for each key that the section needs, unless a misspelt one is there."""
    misspelt = {
        meant.pointer
        for key in _unknown(section, schema)
        if (meant := _meant(key, pointer, schema)) is not None
    }
    for key in schema["required"]:
        here = f"{pointer}/{key}"
        if key in section or here in misspelt:
            continue
        example = quote(schema["properties"][key]["examples"][0])[1:-1]
        yield MISSING_KEY.finding(
            message=f"`{dotted(here)}` is missing",
            help=f'add it, such as `"{key}": {example}`',
            pointer=here,
        )


def _unknown(section: Mapping[str, Any], schema: Schema) -> list[str]:
    return [key for key in section if key not in schema["properties"]][:_MOST_KEYS]


def _meant(key: str, pointer: str, schema: Schema) -> Meant | None:
    """Find the field by its usual other names, by its name elsewhere, then by likeness here."""
    here = pointer + join([key])
    if _planned(here) is not None:
        return Meant(pointer=here, certain=False)
    for name, field in schema["properties"].items():
        if key.casefold() in field.get("x-aliases", ()):
            return Meant(pointer=f"{pointer}/{name}", certain=False)
    elsewhere = _everywhere().get(key.casefold().replace("-", "_"), ())
    if len(elsewhere) == 1 and not _is_plain_match(key, schema):
        return Meant(pointer=elsewhere[0], certain=elsewhere[0].endswith(f"/{key}"))
    known = [*schema["properties"], *_planned_beside(pointer)]
    found = nearest(key, known)
    if found is None:
        return None
    return Meant(pointer=f"{pointer}/{found}", certain=is_certain(key, found, known))


def _is_plain_match(key: str, schema: Schema) -> bool:
    plain = key.casefold().replace("-", "_")
    return plain in schema["properties"]


@cache
def _everywhere() -> Mapping[str, tuple[str, ...]]:
    """Return, for each name, alias and planned name, the fields that it may stand for."""
    found: dict[str, list[str]] = {}
    for field in fields():
        for name in (field.name.rpartition(".")[2], *field.schema.get("x-aliases", ())):
            found.setdefault(name, []).append(field.pointer)
    for pointer in read_planned()["keys"]:
        found.setdefault(split(pointer)[-1], []).append(pointer)
    return {name: tuple(dict.fromkeys(pointers)) for name, pointers in found.items()}


def _planned(pointer: str) -> str | None:
    advice = read_planned()["keys"].get(pointer)
    return str(advice) if advice is not None else None


def _planned_beside(pointer: str) -> list[str]:
    return [split(key)[-1] for key in read_planned()["keys"] if parent(key) == pointer]


def _advice(meant: Meant | None, pointer: str, schema: Schema) -> str:
    if meant is not None:
        beside = parent(meant.pointer) == pointer
        name = split(meant.pointer)[-1] if beside else dotted(meant.pointer)
        return f"did you mean `{name}`?"
    return "the keys here are " + ", ".join(f"`{key}`" for key in schema["properties"])


def _move(data: Mapping[str, Any], here: str, meant: Meant | None) -> tuple[dict[str, Any], ...]:
    """Return the patch that renames or moves the key, where that is certain and room is free."""
    if meant is None or not meant.certain or meant.pointer == here:
        return ()
    *sections, last = split(meant.pointer)
    target: Any = data
    steps: list[dict[str, Any]] = []
    for depth, section in enumerate(sections, 1):
        if section not in target:
            steps.append({"op": "add", "path": join(sections[:depth]), "value": {}})
        target = target.get(section, {})
        if not isinstance(target, Mapping):
            return ()
    if last in target:
        return ()
    return (*steps, {"op": "move", "from": here, "path": meant.pointer})
