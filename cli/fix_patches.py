"""Patches for fixes, on the document as written: short forms stay, missing sections are added."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ftc.spec.findings.finding import Finding
from ftc.spec.normal import lengthen, written_pointer
from ftc.spec.patch import PatchError, apply_patch
from ftc.spec.pointer import join, split
from ftc.spec.text.document import Document

Patch = Sequence[Mapping[str, Any]]


def write_fixes(findings: tuple[Finding, ...], document: Document | None) -> tuple[Finding, ...]:
    """Return the findings with fixes that apply to the document; one that cannot is left out."""
    if document is None:
        return findings
    return tuple(
        replace(finding, fix=write_patch(finding.fix, document.data)) if finding.fix else finding
        for finding in findings
    )


def write_patch(patch: Patch, data: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the patch, made for the long form, as one on `data`; () when it does not apply."""
    written = []
    try:
        for operation in patch:
            fitted = _fit(operation, data)
            data = apply_patch(data, [fitted])
            written.append(fitted)
    except PatchError:
        return ()
    return tuple(written)


def _fit(operation: Mapping[str, Any], data: Any) -> Mapping[str, Any]:
    path = operation["path"]
    if operation["op"] not in {"add", "replace"} or not isinstance(data, Mapping):
        return {**operation, "path": written_pointer(data, path)}
    section, *inside = split(path) or ("",)
    if not inside or section not in data or isinstance(data[section], Mapping):
        return _put(data, split(path), operation["value"])
    if written_pointer(data, path) != f"/{section}":
        return {**operation, "path": written_pointer(data, path)}
    long = lengthen(section, data[section])
    if not isinstance(long, Mapping):
        raise PatchError(f"`{section}` has no long form")
    set_long = apply_patch(long, [_put(long, tuple(inside), operation["value"])])
    shortest = next(iter(set_long.values())) if set_long.keys() == {inside[0]} else set_long
    return {"op": "replace", "path": f"/{section}", "value": shortest}


def _put(data: Any, keys: Sequence[str], value: Any) -> Mapping[str, Any]:
    """Return the one operation that sets a value, with every object around it that is missing."""
    depth = 0
    while depth < len(keys) and (present := _step(data, keys[depth])):
        (data,), depth = present, depth + 1
    if depth == len(keys):
        return {"op": "replace", "path": join(keys), "value": value}
    if not isinstance(data, Mapping):
        return {"op": "add", "path": join(keys), "value": value}
    for key in reversed(keys[depth + 1 :]):
        value = {key: value}
    return {"op": "add", "path": join(keys[: depth + 1]), "value": value}


def _step(data: Any, key: str) -> tuple[Any, ...]:
    """Return what an object or a list has at a key, or ()."""
    if isinstance(data, Mapping):
        return (data[key],) if key in data else ()
    if isinstance(data, list) and key.isdecimal() and int(key) < len(data):
        return (data[int(key)],)
    return ()
