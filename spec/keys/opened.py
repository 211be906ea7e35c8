"""Objects given instead of a value: `"bf16": {"enabled": true}`, `"batch": {"size": 32}`.

Each way to write such an object without its braces is tried, and the fix is the first that leaves
nothing wrong.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ftc.spec.findings.explanations import UNKNOWN_KEY, WRONG_TYPE
from ftc.spec.findings.finding import Finding, Safety
from ftc.spec.findings.quote import quote
from ftc.spec.keys.foreign import Foreign, open_sections
from ftc.spec.keys.known_keys import pair, report_foreign
from ftc.spec.keys.moving import ABSENT, read
from ftc.spec.keys.places import find_places
from ftc.spec.patch import PatchError, apply_patch
from ftc.spec.pointer import dotted, join, parent, split
from ftc.spec.schema import fields, fields_by_pointer, object_form
from ftc.spec.values.repair import switches_off
from ftc.spec.values.synonyms import find_section

_MOST_FIXES: Final = 20
#: Keys that only say that what they are in is in use.
_SWITCHES: Final = frozenset({"enabled", "enable", "active"})
#: Keys for the value itself among its settings.
_OWN: Final = ("name", "type", "value", "method", "_component_", "_target_")

Find = Callable[[Mapping[str, Any]], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class _Way:
    """The keys in place of the object's; a `guess` says more than the object does."""

    keys: Mapping[str, Any]
    guess: bool = False


def open_up(data: Mapping[str, Any], finding: Finding, find: Find) -> Finding | None:
    """Return the finding about an object with a fix that writes its keys elsewhere, or None.

    So is one where the finding's own fix leaves nothing wrong. `find` yields what is wrong with
    other data.
    """
    here = finding.pointer
    held = read(data, parent(here)) if parent(here) else data
    if finding.code not in {UNKNOWN_KEY.code, WRONG_TYPE.code} or not isinstance(held, Mapping):
        return None
    value = held.get(split(here)[-1])
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(value, Mapping) or not value:
        return None
    bare = apply_patch(data, [{"op": "remove", "path": here}])
    known = {(each.code, each.pointer) for each in find(bare)}
    if _suffices(data, finding, lambda it: _rest(it, find, known)):
        return None
    is_unknown = finding.code == UNKNOWN_KEY.code
    for way in _ways(here, value, spreads=is_unknown and not finding.fix):
        settled = _settle(bare, parent(here), way, lambda it: _rest(it, find, known))
        if settled is None:
            continue
        led, safety = _led(bare, settled[0]), settled[1]
        reason = "" if led else "off" if switches_off(_switch(value)) else "default_alike"
        other = Foreign(fields=led, reason=reason, pointer="", is_translated=False)
        report = report_foreign(other, here, data) if is_unknown else _misfit(other, here, data)
        return replace(report, fix_safety=safety)
    return None


def _ways(here: str, value: Mapping[str, Any], *, spreads: bool) -> Iterator[_Way]:
    """Yield the ways to write an object's keys beside it, the most faithful first."""
    key = split(here)[-1]
    switch = _switch(value)
    inner = {name: said for name, said in value.items() if name.casefold() not in _SWITCHES}
    flat = _flatten(inner)
    if switch is not ABSENT and (switches_off(switch) or not inner):
        yield _Way({key: switch})
        return
    if switch is not ABSENT:
        yield _Way({key: inner})
    own = [name for name in (*_OWN, key) if name in flat]
    if len(own) == 1:
        rest = {name: said for name, said in flat.items() if name not in own}
        for name in dict.fromkeys((key, _singular(here))):
            yield _Way({name: _last_part(flat[own[0]]), **rest})
    joined = {_join(key, name): said for name, said in flat.items()}
    if "" not in joined and len(joined) == len(flat):
        yield _Way(joined)
    if spreads and flat:
        yield _Way(flat, guess=switch is ABSENT)
    if switch is not ABSENT:
        yield _Way({key: switch}, guess=True)


def _singular(here: str) -> str:
    """Return the key at a pointer, or the name of the field that it is the plural of: `gpus`."""
    key = split(here)[-1]
    one = key.removesuffix("s")
    return one if f"{parent(here)}{join([one])}" in fields_by_pointer() else key


def _last_part(value: Any) -> Any:
    """Return the name of a class without its module: `torch.optim.AdamW`."""
    parts = value.split(".") if isinstance(value, str) else [""]
    return parts[-1] if all(map(str.isidentifier, parts)) else value


def _switch(value: Mapping[str, Any]) -> Any:
    """Return what the object's switch says, or ABSENT."""
    return next((said for name, said in value.items() if name.casefold() in _SWITCHES), ABSENT)


def _flatten(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's keys with those of a group of settings in it: `params`, `kwargs`."""
    flat: dict[str, Any] = {}
    for name, said in value.items():
        group = isinstance(said, Mapping) and find_section(name, "/here") == "/here"
        flat.update(said if group else {name: said})
    return flat


def _join(key: str, name: str) -> str:
    """Return the name that a key and one inside it form, if a field has it, or ""."""
    return next((it for it in (f"{key}_{name}", f"{name}_{key}") if find_places(it)), "")


def _settle(
    bare: Mapping[str, Any], above: str, way: _Way, find: Find
) -> tuple[Mapping[str, Any], Safety] | None:
    """Return the data with the keys of a way and all their fixes, or None if one has none."""
    held = read(bare, above) if above else bare
    if not isinstance(held, Mapping) or held.keys() & way.keys.keys():
        return None
    added = ({"op": "add", "path": above + join([at]), "value": it} for at, it in way.keys.items())
    safety: Safety = "unsafe" if way.guess else "safe"
    try:
        data = apply_patch(bare, tuple(added))
        for _ in range(_MOST_FIXES):
            found = list(find(data))
            if not found:
                return data, safety
            if not all(each.fix for each in found):
                return None
            first = min(found, key=lambda each: each.fix_safety != "safe")
            if first.fix_safety == "unsafe" and all(it["op"] == "remove" for it in first.fix):
                return None  # it would be lost
            safety = "unsafe" if first.fix_safety == "unsafe" else safety
            data = apply_patch(data, first.fix)
    except PatchError:
        return None
    return None


def _rest(data: Mapping[str, Any], find: Find, known: set[tuple[str, str]]) -> Iterator[Finding]:
    """Yield what is wrong with data that was not wrong without the object."""
    return (each for each in find(data) if (each.code, each.pointer) not in known)


def _suffices(data: Mapping[str, Any], finding: Finding, find: Find) -> bool:
    """Return whether a finding's own fix applies and leaves nothing wrong that `find` yields."""
    try:
        return bool(finding.fix) and not any(find(apply_patch(data, tuple(finding.fix))))
    except PatchError:
        return False


def _led(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the second spec sets otherwise, with their values there."""
    led: dict[str, Any] = {}
    for field in fields():
        value = read(after, field.pointer)
        is_whole = isinstance(value, Mapping) and object_form(field.schema) is not None
        if value is ABSENT or is_whole or "x-short" in field.schema:
            continue
        if value != read(before, field.pointer):
            led[field.pointer] = value
    return led


def _misfit(other: Foreign, here: str, data: Mapping[str, Any]) -> Finding:
    """Report a field with such an object."""
    led = dict(other.fields)
    steps: list[dict[str, Any]] = [{"op": "remove", "path": here}]
    if here in led:
        steps = [{"op": "replace", "path": here, "value": led.pop(here)}]
    for at, value in led.items():
        steps += open_sections(apply_patch(data, steps), at)
        steps.append({"op": "add", "path": at, "value": value})
    return WRONG_TYPE.finding(
        help="beside" if other.fields else "null",
        pointer=here,
        fix=tuple(steps),
        name=dotted(here),
        value=quote(read(data, here)),
        pairs=tuple(pair(at, value) for at, value in other.fields.items()),
    )
