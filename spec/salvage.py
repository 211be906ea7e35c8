"""Keeps what is sound of a wrong spec: makes certain repairs, and leaves out other wrong parts.

A part that is left out has no value at all, so that nothing is concluded from one: to read it
raises AttributeError, and what needs it is not known (`known_or_none`).
"""

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Final, TypeVar

from ftc.spec.findings.explanations import (
    FOREIGN_COLUMN,
    MALFORMED_LIST,
    MALFORMED_TEXT,
    MISSING_KEY,
    OUT_OF_RANGE,
    UNKNOWN_KEY,
    UNKNOWN_VALUE,
    UNREAD_FIELD,
    WEIGHTS_OF_SOME,
    WRONG_TYPE,
)
from ftc.spec.findings.finding import Finding
from ftc.spec.keys.moving import ABSENT, read
from ftc.spec.normal import lengthen
from ftc.spec.patch import PatchError, apply_patch
from ftc.spec.pointer import join, split
from ftc.spec.schema import Field, find_field, read_schema
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.validate import judge, to_spec

T = TypeVar("T")
_ROUNDS: Final = 5
_MOST_FINDINGS: Final = 100
#: Sections whose default says that nothing is asked for.
_NEUTRAL: Final = frozenset({"$schema", "ftc", "allow"})
_OF_VALUES: Final = frozenset(
    each.code for each in (WRONG_TYPE, UNKNOWN_VALUE, OUT_OF_RANGE, MALFORMED_TEXT, MALFORMED_LIST)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """The spec without its wrong parts.

    `is_guessed` is set where a key was removed that may mean any field: numbers then prove nothing.
    `findings` are what the schema says of the repaired parts. `data` is the repaired written form,
    `left_out` and `wrong` are the pointers of what is not known.
    """

    spec: Spec
    is_guessed: bool
    findings: tuple[Finding, ...]
    data: Mapping[str, Any]
    left_out: frozenset[str]
    wrong: frozenset[str]


def salvage(document: Document, findings: Sequence[Finding]) -> Salvaged | None:
    """Return what is left of a spec with these findings; None if nothing is left."""
    data = document.data
    if not isinstance(data, dict) or len(findings) >= _MOST_FINDINGS:
        return None
    repairs = _Repairs(data=copy.deepcopy(data), left_out=set())
    later: list[Finding] = []
    told = {_said(each) for each in findings}
    found: Sequence[Finding] = findings
    for _ in range(_ROUNDS):
        repairs.repair(found)
        found = judge(repairs.data, left_out=repairs.left_out, wrong=repairs.wrong)
        if not found:
            break
        later += [each for each in found if not repairs.concerns(each) and _said(each) not in told]
    if found or any(part not in repairs.data for part in read_schema()["required"]):
        return None
    return Salvaged(
        spec=leave_out_fields(to_spec(repairs.data), repairs.left_out),
        is_guessed=repairs.is_guessed,
        findings=tuple(later),
        data=repairs.data,
        left_out=frozenset(repairs.left_out),
        wrong=frozenset(repairs.wrong),
    )


def _said(finding: Finding) -> tuple[str, str]:
    """Return a finding without its place, since a moved section reports it at two places."""
    return finding.code, finding.message


def leave_out_fields(spec: Spec, pointers: Collection[str]) -> Spec:
    """Remove the values of these fields from the spec, in place, and return it."""
    for pointer in sorted(pointers, key=len, reverse=True):
        _leave_out(spec, pointer)
    return spec


def known_or_none(make: Callable[[], T]) -> T | None:
    """Return what is made of a spec, or None if that reads a part that is left out."""
    try:
        return make()
    except AttributeError as error:
        if not is_left_out(error):
            raise
        return None


def is_left_out(error: AttributeError) -> bool:
    """Return whether the error comes from reading a part that is left out."""
    kind = type(error.obj)
    is_section = is_dataclass(kind) and kind.__module__ == Spec.__module__
    return is_section and error.name in getattr(kind, "__dataclass_fields__", ())


@dataclass(slots=True, kw_only=True)
class _Repairs:
    """A spec's data while its wrong parts are repaired or removed."""

    data: dict[str, Any]
    left_out: set[str]
    wrong: set[str] = field(default_factory=set)
    is_guessed: bool = False

    def repair(self, findings: Sequence[Finding]) -> None:
        """Make certain repairs, and remove what else is wrong; later items of a list first."""
        removed: list[Finding] = []
        self.wrong -= {each.pointer for each in findings}
        for finding in findings:
            try:
                certain = bool(finding.fix) and finding.fix_safety == "safe"
                if not certain or finding.code == FOREIGN_COLUMN.code:
                    raise PatchError("nothing is certain")  # noqa: TRY301 - handled like a misfit
                self.data = apply_patch(self.data, self._join(finding.fix))
            except PatchError:
                removed.append(finding)
        removed.sort(key=lambda each: [part.zfill(9) for part in split(each.pointer)], reverse=True)
        dropped: set[tuple[str, ...]] = set()  # items of lists, which go whole and once
        for finding in removed:
            item = _incomplete_item(finding)
            if item is None:
                self._remove(finding, dropped)
            elif item not in dropped:
                dropped.add(item)
                self._drop_item(item)

    def _join(self, fix: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return a fix that keeps the sections which repairs before it have written.

        Each fix is made for the spec as it is written, where these sections may be missing.
        """
        steps: list[Mapping[str, Any]] = []
        for step in fix:
            present = read(self.data, step["path"]) if step.get("value") == {} else ABSENT
            long = lengthen(split(step["path"])[0], present) if present is not ABSENT else None
            steps.append({**step, "value": dict(long)} if isinstance(long, Mapping) else step)
        return steps

    def concerns(self, finding: Finding) -> bool:
        """Return whether a finding may come from what was left out; a conflict reads none of it."""
        if self.is_guessed or finding.code == UNREAD_FIELD.code:
            return self.is_guessed
        at = f"{finding.pointer}/"
        near = [f"{pointer}/" for pointer in self.left_out]
        return any(at.startswith(each) or each.startswith(at) for each in near)

    def _drop_item(self, item: tuple[str, ...]) -> None:
        """Remove an item of a list that lacks a required key, or has no key that is known."""
        self._note(item)
        holder: Any = self.data
        for part in item[:-1]:
            holder = _step(holder, part)
        if isinstance(holder, list) and int(item[-1]) < len(holder):
            del holder[int(item[-1])]

    def _remove(self, finding: Finding, dropped: AbstractSet[tuple[str, ...]]) -> None:
        parts = split(finding.pointer)
        if any(parts[: len(item)] == item for item in dropped):
            return
        if finding.code == MISSING_KEY.code:
            self._stand_in(parts)
            return
        if finding.code == WEIGHTS_OF_SOME.code:
            self._forget_weights()
            return
        if finding.code in _OF_VALUES and _field_at(parts) is not None:
            self.wrong.add(finding.pointer)
        if finding.code == UNKNOWN_KEY.code:
            self._doubt(parts, str(finding.remedy.values.get("near", "")))
        else:
            self._note(parts)
        with_it: Any = self.data
        for part in parts[:-1]:
            with_it = _step(with_it, part)
        if isinstance(with_it, dict):
            with_it.pop(parts[-1], None)
            if not with_it and len(parts) > 1 and parts[-2].isdecimal():
                self._drop_item(parts[:-1])  # an empty item would be another finding
        elif isinstance(with_it, list) and parts[-1].isdecimal() and int(parts[-1]) < len(with_it):
            del with_it[int(parts[-1])]
        elif isinstance(self.data.get(parts[0]), (str, int, float, list)):
            del self.data[parts[0]]  # a section in its short form

    def _forget_weights(self) -> None:
        """Remove the weights of a mixture: its sources can be read, their shares are unknown."""
        self.is_guessed = True
        for source in self.data["data"]["sources"]:
            if isinstance(source, dict):
                source.pop("weight", None)
                source.pop("max_repeats", None)

    def _stand_in(self, parts: tuple[str, ...]) -> None:
        """Give a required key the value of its example, and leave it out."""
        field = _field_at(parts)
        if field is None:
            self._note(parts)
            return
        holder = self.data
        for depth, part in enumerate(parts[:-1], 1):
            long = lengthen(part, holder.get(part, {})) if depth == 1 else holder.get(part, {})
            holder[part] = dict(long) if isinstance(long, Mapping) else {}
            holder = holder[part]
        holder[parts[-1]] = copy.deepcopy(field.schema["examples"][0])
        self.left_out.add(field.pointer)

    def _doubt(self, parts: tuple[str, ...], near: str) -> None:
        """Leave out the field that an unknown key may mean."""
        if not near:
            self.is_guessed = self.is_guessed or len(parts) > 1
            return
        above = parts[:-1]
        names = (*above, near) if "." not in near else tuple(near.split("."))
        if _field_at(names) is None and "." not in near and _field_at((near,)) is not None:
            names = (near,)
        self._note(names)

    def _note(self, parts: tuple[str, ...]) -> None:
        """Leave out the field at a pointer of the written form, or the one around it."""
        section, written = parts[0], self.data.get(parts[0])
        if section in _NEUTRAL:
            return
        schema = read_schema()["properties"].get(section)
        if schema is None:
            return
        if "x-short" in schema and section in self.data and not isinstance(written, Mapping):
            names = ("gpu", "count") if section == "hardware" else (schema["x-short"],)
            self.left_out |= {join([section, name]) for name in names}
            return
        while parts and _field_at(parts) is None:
            parts = parts[:-1]
        self.left_out.add(join(parts))


def _incomplete_item(finding: Finding) -> tuple[str, ...] | None:
    """Return the pointer's parts of the list item that lacks a required key, if that is it."""
    item = split(finding.pointer)[:-1]
    is_item = finding.code == MISSING_KEY.code and bool(item) and item[-1].isdecimal()
    return item if is_item else None


def _step(data: Any, part: str) -> Any:
    if isinstance(data, Mapping):
        return data.get(part)
    if isinstance(data, list) and part.isdecimal() and int(part) < len(data):
        return data[int(part)]
    return None


def _field_at(parts: Sequence[str]) -> Field | None:
    try:
        return find_field(join(parts))
    except KeyError:
        return None


def _leave_out(spec: Spec, pointer: str) -> None:
    """Take the value of a field from a spec that nobody else holds."""
    *above, last = split(pointer)
    section: Any = spec
    for part in above:
        section = getattr(section, part, None)
    if is_dataclass(section) and hasattr(section, last):
        object.__delattr__(section, last)
