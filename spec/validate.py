"""From a document to a typed spec, or to all of its findings at once."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from ftc.spec.findings.explanations import (
    NOT_AN_OBJECT,
    OTHER_VERSION,
    UNKNOWN_KEY,
    UNSUPPORTED_FIELD,
)
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote
from ftc.spec.normal import leave_unread, normalise, said, written_pointer
from ftc.spec.patch import merge_objects
from ftc.spec.pointer import split
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.values.expectation import json_type

VERSION: Final = 1
_MOST_FINDINGS: Final = 100
_OF_KEYS: Final = frozenset({UNKNOWN_KEY.code, UNSUPPORTED_FIELD.code})


def validate(document: Document) -> Spec | tuple[Finding, ...]:
    """Return the spec in its long form, or its findings with positions, in file order."""
    data = document.data
    if not isinstance(data, dict):
        merged = merge_objects(data)
        fix = ({"op": "replace", "path": "", "value": merged},) if merged else ()
        help_ = "list" if merged else ""
        finding = NOT_AN_OBJECT.finding(help=help_, fix=fix, value=quote(data))
        return (locate(document, finding),)
    if version := _other_version(data.get("ftc")):
        return (locate(document, version),)
    findings = judge(data)
    if findings:
        return sort_findings(locate(document, finding) for finding in findings)
    return to_spec(data)


def to_spec(data: Mapping[str, Any]) -> Spec:
    """Return the spec of valid data; raises msgspec.ValidationError for other data."""
    from msgspec import convert  # noqa: PLC0415 - not needed for a spec with findings

    long = normalise(data)
    written = leave_unread(long, said(data))
    return convert({**long, "said": sorted(written)}, Spec)


def locate(document: Document, finding: Finding) -> Finding:
    """Return the finding with its position in the file, and a pointer into the written form.

    A value that is not written (a default, a missing key) gets the position of the nearest
    enclosing value.
    """
    if finding.code in _OF_KEYS:
        return finding.at(document.key_position(finding.pointer))
    pointer = written_pointer(document.data, finding.pointer)
    return replace(finding, pointer=pointer, position=document.position(pointer))


def judge(
    data: Mapping[str, Any],
    *,
    left_out: Collection[str] = (),
    wrong: Collection[str] = (),
) -> list[Finding]:
    """Return what is wrong with data in the written form, without positions.

    `left_out` and `wrong` are fields whose values are not known, as `find_conflicts` reads them.
    """
    from ftc.spec.consistency import find_conflicts  # noqa: PLC0415
    from ftc.spec.keys.moved import find_inside  # noqa: PLC0415
    from ftc.spec.keys.opened import open_up  # noqa: PLC0415
    from ftc.spec.violations import find_violations  # noqa: PLC0415 - jsonschema is slow to import

    found: dict[tuple[str, str], Finding] = {}
    for finding in find_violations(data):
        inside = tuple(find_inside(data, finding, find_violations))
        opened = open_up(data, inside[0], find_violations)
        for each in inside if opened is None else (opened,):
            found.setdefault((each.code, each.pointer), each)
        if len(found) >= _MOST_FINDINGS:
            break
    changed = (step["path"] for finding in found.values() for step in finding.fix)
    broken = {split(pointer)[0] for pointer in (*(at for _, at in found), *changed) if pointer}
    sound = {section: written for section, written in data.items() if section not in broken}
    return [*found.values(), *find_conflicts(sound, left_out=left_out, wrong=wrong)]


def _other_version(version: Any) -> Finding | None:
    if json_type(version) != "integer" or version == VERSION:
        return None
    return OTHER_VERSION.finding(pointer="/ftc", version=version, own_version=VERSION)


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings in the order of their places, those without a place first."""

    def place(finding: Finding) -> tuple[int, int, str]:
        where = finding.position
        return (where.line, where.column, finding.code) if where else (0, 0, finding.code)

    return tuple(sorted(findings, key=place))
