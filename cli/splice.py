"""JSON patches on JSON text: only the touched characters change, the layout stays."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.spec.patch import PatchError
from ftc.spec.pointer import join, split

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODE: Final = json.JSONDecoder().raw_decode
_SCALAR: Final = re.compile(r"[^\s,\]}]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where a value stands in the text; `member` begins at its key, when it has one."""

    member: int
    start: int
    end: int


def splice(text: str, operation: Mapping[str, Any]) -> str:
    """Return the text with one operation done; raises PatchError where no splice does it.

    `text` must be valid JSON.
    """
    edit = _EDITS.get(operation["op"])
    if edit is None:
        raise PatchError(f"no splice for {operation['op']}")
    return edit(text, find_spans(text), operation)


def find_spans(text: str) -> Mapping[str, Span]:
    """Return the span of every value of a valid JSON text, by JSON pointer, in text order."""
    spans: dict[str, Span] = {}
    start = _skip(text, 0)
    _scan(text, start, start, (), spans)
    return spans


def _scan(text: str, member: int, start: int, keys: tuple[str, ...], spans: dict[str, Span]) -> int:
    pointer = join(keys)
    spans[pointer] = Span(member=member, start=start, end=start)
    if text[start] in "{[":
        end = _scan_members(text, start, keys, spans)
    elif text[start] == '"':
        end = _DECODE(text, start)[1]
    else:
        end = _match(_SCALAR, text, start)
    spans[pointer] = Span(member=member, start=start, end=end)
    return end


def _scan_members(text: str, start: int, keys: tuple[str, ...], spans: dict[str, Span]) -> int:
    at, index = _skip(text, start + 1), 0
    while text[at] not in "}]":
        member, key = at, str(index)
        if text[start] == "{":
            key, at = _DECODE(text, at)
            at = _skip(text, _skip(text, at) + 1)  # over the colon
        at = _skip(text, _scan(text, member, at, (*keys, key), spans))
        if text[at] == ",":
            at = _skip(text, at + 1)
        index += 1
    return at + 1


def _match(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _skip(text: str, at: int) -> int:
    return _match(_SPACE, text, at)


def _span(spans: Mapping[str, Span], pointer: str) -> Span:
    if pointer not in spans:
        raise PatchError(f"there is nothing at {pointer}")
    return spans[pointer]


def _replace(text: str, spans: Mapping[str, Span], operation: Mapping[str, Any]) -> str:
    span = _span(spans, operation["path"])
    return text[: span.start] + _dump(operation["value"]) + text[span.end :]


def _remove(text: str, spans: Mapping[str, Span], operation: Mapping[str, Any]) -> str:
    span = _span(spans, operation["path"])
    after = _skip(text, span.end)
    if text[after : after + 1] == ",":
        return text[: span.member] + text[_skip(text, after + 1) :]
    before = text[: span.member].rstrip()
    if before.endswith(","):
        return before[:-1] + text[span.end :]
    return before + text[after:]  # the only member, which leaves `{}` or `[]`


def _add(text: str, spans: Mapping[str, Span], operation: Mapping[str, Any]) -> str:
    keys = split(operation["path"])
    parent = _span(spans, join(keys[:-1]))
    if text[parent.start] != "{":
        raise PatchError("only members of objects are added in place")
    if operation["path"] in spans:
        return _replace(text, spans, operation)
    member = f"{_dump(keys[-1])}: {_dump(operation['value'])}"
    inside = [span for pointer, span in spans.items() if _is_child(pointer, keys[:-1])]
    if not inside:
        return text[: parent.start] + "{" + member + "}" + text[parent.end :]
    gap = text[parent.start + 1 : inside[0].member]
    return text[: inside[-1].end] + "," + (gap or " ") + member + text[inside[-1].end :]


def _is_child(pointer: str, keys: tuple[str, ...]) -> bool:
    parts = split(pointer)
    return len(parts) == len(keys) + 1 and parts[:-1] == keys


def _move(text: str, spans: Mapping[str, Span], operation: Mapping[str, Any]) -> str:
    """Rename a key where it stands; to another object a member goes to the end."""
    source, target = operation["from"], operation["path"]
    span = _span(spans, source)
    if target in spans or span.member == span.start:
        raise PatchError("only a member is moved, to a place that is free")
    if split(source)[:-1] == split(target)[:-1]:
        key_end = _DECODE(text, span.member)[1]
        return text[: span.member] + _dump(split(target)[-1]) + text[key_end:]
    value = json.loads(text[span.start : span.end])
    rest = _remove(text, spans, {"path": source})
    return _add(rest, find_spans(rest), {"path": target, "value": value})


def _test(text: str, spans: Mapping[str, Span], operation: Mapping[str, Any]) -> str:
    span = _span(spans, operation["path"])
    if json.loads(text[span.start : span.end]) != operation["value"]:
        raise PatchError(f"{operation['path']} is not what the patch expects")
    return text


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_Edit = Callable[[str, Mapping[str, Span], Mapping[str, Any]], str]
_EDITS: Final[Mapping[str, _Edit]] = {
    "add": _add,
    "move": _move,
    "remove": _remove,
    "replace": _replace,
    "test": _test,
}
