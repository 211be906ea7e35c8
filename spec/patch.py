"""JSON patches (RFC 6902) on plain data: what a finding's `fix` means."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ftc.spec.pointer import join, split


class PatchError(ValueError):
    """A patch does not apply to this document."""


def apply_patch(data: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """Return a patched copy; raises PatchError when an operation does not apply."""
    patched = copy.deepcopy(data)
    for operation in operations:
        patched = _apply(patched, operation)
    return patched


def replaces_all(operations: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a fix is the whole spec, which needs nothing of the text."""
    return [(each["op"], each["path"]) for each in operations] == [("replace", "")]


def _apply(data: Any, operation: Mapping[str, Any]) -> Any:
    keys = split(operation["path"])
    match operation["op"]:
        case "add":
            return _put(data, keys, copy.deepcopy(operation["value"]), replaces=False)
        case "replace":
            _take(data, keys)
            return _put(data, keys, copy.deepcopy(operation["value"]), replaces=True)
        case "remove":
            _take(data, keys)
            return _drop(data, keys)
        case "move":
            source = split(operation["from"])
            value = _take(data, source)
            return _put(_drop(data, source), keys, value, replaces=False)
        case "test":
            if _take(data, keys) != operation["value"]:
                raise PatchError(f"{operation['path']} is not what the patch expects")
            return data
    raise PatchError(f"unknown operation: {operation['op']}")


def _take(data: Any, keys: tuple[str, ...]) -> Any:
    """Return the value at a pointer."""
    for key in keys:
        try:
            data = data[int(key)] if isinstance(data, list) else data[key]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise PatchError(f"there is nothing at {join(keys)}") from error
    return data


def _put(data: Any, keys: tuple[str, ...], value: Any, *, replaces: bool) -> Any:
    if not keys:
        return value
    parent, key = _take(data, keys[:-1]), keys[-1]
    if isinstance(parent, dict):
        parent[key] = value
    elif isinstance(parent, list) and key == "-":
        parent.append(value)
    elif isinstance(parent, list) and key.isdecimal() and int(key) <= len(parent):
        end = int(key) + 1 if replaces else int(key)
        parent[int(key) : end] = [value]
    else:
        raise PatchError(f"nothing can be put at {join(keys)}")
    return data


def _drop(data: Any, keys: tuple[str, ...]) -> Any:
    if not keys:
        raise PatchError("the whole document cannot be removed")
    parent, key = _take(data, keys[:-1]), keys[-1]
    del parent[int(key) if isinstance(parent, list) else key]
    return data


def merge_objects(value: Any) -> dict[str, Any] | None:
    """Return the keys of a list of objects as one object; None if two of them share a key."""
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        return None
    merged = {key: said for item in value for key, said in item.items()}
    return merged if len(merged) == sum(map(len, value)) else None
