"""Keeps only fixes whose resulting spec has no new error."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec

from ftc.compiler.checks.registry import run_checks
from ftc.compiler.plan.planner import plan_once
from ftc.compiler.resolve.facts import Facts, known
from ftc.compiler.resolve.resolver import section_hashes
from ftc.spec.findings.finding import Finding
from ftc.spec.normal import FOR_READERS
from ftc.spec.patch import PatchError, apply_patch
from ftc.spec.pointer import join, split
from ftc.spec.salvage import Salvaged, known_or_none, leave_out_fields
from ftc.spec.schema import fields_by_pointer
from ftc.spec.sections import Spec
from ftc.spec.validate import judge, to_spec


def vet_fixes(spec: Spec, facts: Facts, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings without the fixes that bring an error of another kind.

    A fix that changes what the facts rest on is not judged: they would have to be resolved again.
    """
    errors = {finding.code for finding in findings if finding.severity == "error"}
    return tuple(
        replace(finding, fix=()) if _brings_error(spec, facts, finding, errors) else finding
        for finding in findings
    )


def vet_rest(
    left: Salvaged, written: Mapping[str, Any], facts: Facts, findings: Sequence[Finding]
) -> tuple[Finding, ...]:
    """Return the findings on the valid rest of a spec, with the fixes that suit the whole spec.

    These change only sections of the `written` form in which nothing is wrong.
    """
    errors = {finding.code for finding in findings if finding.severity == "error"}
    spec = to_spec(left.data)

    def suits(finding: Finding) -> bool:
        paths = [each[name] for each in finding.fix for name in ("path", "from") if name in each]
        sections = {split(path)[0] for path in paths if path}
        is_sound = all(written.get(each) == left.data.get(each) for each in sections)
        return is_sound and not _brings_error(spec, facts, finding, errors, left=left)

    return tuple(each if suits(each) else replace(each, fix=()) for each in findings)


def _brings_error(
    spec: Spec,
    facts: Facts,
    finding: Finding,
    errors: set[str],
    *,
    left: Salvaged | None = None,
) -> bool:
    if not finding.fix:
        return False
    try:
        written = _patch(_write(spec), finding.fix)
    except PatchError:
        return False  # made for another form of the section; it is left out where it is applied
    left_out, wrong = (left.left_out, left.wrong) if left else (frozenset(), frozenset())
    if judge(written, left_out=left_out, wrong=wrong):
        return True
    fixed = to_spec(written)
    if section_hashes(fixed) != section_hashes(spec):
        return False
    fixed = leave_out_fields(fixed, left_out)
    every = None if left and left.is_guessed else known(facts)
    plan = None if every is None else known_or_none(lambda: plan_once(fixed, every))
    found = run_checks(fixed, facts, plan)
    return any(each.severity == "error" and each.code not in errors for each in found)


def _write(spec: Spec) -> dict[str, Any]:
    """Return the fields that the user wrote, in the long form."""
    whole = msgspec.json.decode(msgspec.json.encode(spec))
    written: dict[str, Any] = {}
    for pointer in sorted(spec.said - {join([key]) for key in FOR_READERS}):
        value, place = whole, written
        *above, last = split(pointer)
        for part in above:
            value, place = value[part], place.setdefault(part, {})
        inner = value[last]
        place[last] = {} if isinstance(inner, dict) and _has_fields(pointer) else _trim(inner)
    return written


def _trim(value: Any) -> Any:
    """Return a value without what is empty in the objects of a list: nobody has written it."""
    if not isinstance(value, list):
        return value
    return [
        {key: inner for key, inner in item.items() if inner is not None and inner != []}
        if isinstance(item, dict)
        else item
        for item in value
    ]


@cache
def _has_fields(pointer: str) -> bool:
    """Return whether the keys of an object are fields rather than names chosen by the user."""
    return any(other.startswith(f"{pointer}/") for other in fields_by_pointer())


def _patch(data: dict[str, Any], fix: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the data with a fix made for the long form; sections that it needs are added."""
    patched: dict[str, Any] = data
    for operation in fix:
        above = split(operation["path"])[:-1]
        sets = operation["op"] in {"add", "replace", "move"}
        steps: list[Mapping[str, Any]] = []
        place: Any = patched
        for depth, part in enumerate(above, 1):
            if sets and isinstance(place, Mapping) and part not in place:
                steps.append({"op": "add", "path": join(above[:depth]), "value": {}})
                place = {}
            else:
                place = place.get(part) if isinstance(place, Mapping) else None
        op = "add" if operation["op"] == "replace" and steps else operation["op"]
        patched = apply_patch(patched, [*steps, {**operation, "op": op}])
    return patched
