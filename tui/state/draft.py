"""The draft: the values of a spec so far, as an immutable object, and its conversion to a spec."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ftc.spec.normal import lengthen
from ftc.spec.pointer import join, split
from ftc.spec.schema import read_schema
from ftc.tui.state.goals import Goal
from ftc.tui.understanding.reading import Change, value_at

_COUNTED: Final = "hardware"
_ONE_SOURCE: Final = "/data/source"
_SOURCES: Final = "/data/sources"
#: A spec has only one field of each pair: setting one removes the other.
_OTHER: Final[Mapping[str, str]] = {_ONE_SOURCE: _SOURCES, _SOURCES: _ONE_SOURCE}
#: Placeholders for required values that are not set yet.
_STAND_INS: Final[Mapping[str, str]] = {"name": "draft", "model": "not/said", "data": "not-said"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A spec in its long form, with only the values that were set.

    `chosen` holds the pointers of values that the user left to ftc. `goal` is what the model should
    learn, None until the user states it; drafts that differ only in it are equal.
    """

    data: Mapping[str, Any] = field(default_factory=dict)
    chosen: frozenset[str] = frozenset()
    goal: Goal | None = field(default=None, compare=False)

    def get(self, pointer: str) -> Any:
        """Return the value at a pointer, or None if it is not set."""
        return value_at(self.data, pointer)

    def has(self, pointer: str) -> bool:
        """Return whether a pointer is set; `sources` also counts as `source`."""
        also = pointer == _ONE_SOURCE and self.get(_SOURCES) is not None
        return also or self.get(pointer) is not None

    def changed(self, changes: Iterable[Change], *, chosen: bool = False) -> "Draft":
        """Return the draft with the changes; `chosen` marks them as ftc's choice."""
        data: Mapping[str, Any] = self.data
        own = set(self.chosen)
        for change in changes:
            data = _put(data, split(change.pointer), change.value)
            if change.pointer in _OTHER and change.value is not None:
                data = _put(data, split(_OTHER[change.pointer]), None)
            own.discard(change.pointer)
            if chosen and change.value is not None:
                own.add(change.pointer)
        return Draft(data=data, chosen=frozenset(own), goal=self.goal)


def find_differences(before: Draft, after: Draft) -> tuple[Change, ...]:
    """Return the changes from one draft to another, in the order of the sections."""
    return tuple(_differences(before.data, after.data, ""))


def _differences(old: Any, new: Any, pointer: str) -> Iterator[Change]:
    if isinstance(new, Mapping) or isinstance(old, Mapping):
        was, now = (each if isinstance(each, Mapping) else {} for each in (old, new))
        for key in dict.fromkeys((*was, *now)):
            yield from _differences(was.get(key), now.get(key), f"{pointer}{join([key])}")
    elif old != new:
        yield Change(pointer=pointer, value=new, words="")


def read_draft(data: Mapping[str, Any]) -> Draft:
    """Return the draft for a written spec, with short forms expanded."""
    kept = {key: value for key, value in data.items() if key != "$schema"}
    return Draft(data={section: lengthen(section, value) for section, value in kept.items()})


def written(draft: Draft) -> dict[str, Any]:
    """Return the spec with short forms, in the schema's order."""
    sections = read_schema()["properties"]
    spec = {
        name: _shortened(name, draft.data[name], schema)
        for name, schema in sections.items()
        if name in draft.data
    }
    return {name: value for name, value in spec.items() if value != {}}


def list_values(draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield the pointer and the text of each value of the spec, formatted for display."""
    yield from _leaves(written(draft), "")


def _leaves(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{pointer}/{key}")
    else:
        yield pointer, show_value(value)


def show_value(value: Any) -> str:
    """Format a value for display, without JSON's quotes and brackets."""
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(show_value, value)) or "[]"
        case Mapping():
            return " ".join(f"{key}={show_value(inner)}" for key, inner in value.items())
    return str(value)


def completed(draft: Draft) -> dict[str, Any]:
    """Return the written spec, with placeholders for required values that are not set."""
    said = written(draft)
    spec: dict[str, Any] = {}
    for section, stand_in in _STAND_INS.items():
        value = said.get(section, stand_in)
        short = read_schema()["properties"][section].get("x-short")
        stands = isinstance(value, Mapping) and "sources" not in value
        spec[section] = {short: stand_in, **value} if stands else value
    return {**said, **spec}


def _shortened(name: str, value: Any, schema: Mapping[str, Any]) -> Any:
    if not isinstance(value, Mapping) or "x-short" not in schema:
        return value
    if name == _COUNTED and set(value) == {"gpu", "count"} and isinstance(value["count"], int):
        return f"{value['count']}x {value['gpu']}"
    return value[schema["x-short"]] if set(value) == {schema["x-short"]} else value


def _put(data: Mapping[str, Any], keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a copy with the value set, or removed if it is None."""
    first, *rest = keys
    inner = data.get(first)
    if rest:
        value = _put(inner if isinstance(inner, Mapping) else {}, tuple(rest), value) or None
    kept = {key: old for key, old in data.items() if key != first}
    if value is None:
        return kept
    return {key: value if key == first else old for key, old in data.items()} | {first: value}
