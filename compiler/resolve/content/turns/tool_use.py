"""Tools: what conversations call, what they declare, and where the two do not fit."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.compiler.resolve.content_facts import ToolUse
from ftc.compiler.resolve.rows.example import Example
from ftc.compiler.resolve.rows.reader import Row
from ftc.runtime.read.chat_rows import find_role, load_messages
from ftc.runtime.read.rows import Turns

_SHOWN: Final = 3
_TOOL_ROLES: Final = frozenset({"tools", "calls", "tool"})


def find_tool_use(examples: Sequence[Example], *, unmatched_rows: int) -> ToolUse | None:
    """Return how conversations use tools; None where none does.

    `unmatched_rows` are the rows whose results name calls that no message makes.
    """
    rows: Counter[str] = Counter()
    undeclared: Counter[str] = Counter()
    incomplete: Counter[str] = Counter()
    for example in examples:
        held = _TOOL_ROLES.intersection(role for role, _ in example.turns)
        if not held:
            continue
        rows.update(held)
        names, missing = _compare(example.turns)
        undeclared.update(names)
        incomplete.update(missing)
        rows["unoffered"] += bool(names) and "tools" not in held
        rows["undeclared"] += bool(names) and "tools" in held
        rows["incomplete"] += bool(missing)
        rows["described"] += "tools" in held and _are_described(example.turns)
    if not rows:
        return None
    return ToolUse(
        call_rows=rows["calls"],
        result_rows=rows["tool"],
        declaring_rows=rows["tools"],
        described_rows=rows["described"],
        unoffered_rows=rows["unoffered"],
        undeclared_rows=rows["undeclared"],
        undeclared=tuple(name for name, _ in undeclared.most_common(_SHOWN)),
        incomplete_rows=rows["incomplete"],
        incomplete=tuple(name for name, _ in incomplete.most_common(_SHOWN)),
        unmatched_rows=unmatched_rows,
    )


def has_unmatched_result(row: Row | None, *, column: str | None) -> bool:
    """Return whether a result names a call, by its id, that no message before it makes.

    Where calls have no ids the results belong to them in their order.
    """
    messages = load_messages((row or {}).get(column)) if column is not None else ()
    made = set[object]()
    for message in messages if not isinstance(messages, str) else ():
        if not isinstance(message, dict):
            return False
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and isinstance(call.get("id"), str):
                made.add(call["id"])
        role, wanted = message.get("role", message.get("from")), message.get("tool_call_id")
        is_result = find_role(role) == "tool"
        if made and is_result and isinstance(wanted, str) and wanted and wanted not in made:
            return True
    return False


def _compare(turns: Turns) -> tuple[set[str], set[str]]:
    """Return the called functions that no text declares, and the arguments that calls lack."""
    declared = dict(_read_declared(turns))
    undeclared, missing = set[str](), set[str]()
    for place, (role, text) in enumerate(turns):
        for call in json.loads(text) if role == "calls" else ():
            name, given = call["function"]["name"], call["function"]["arguments"]
            if name in declared:
                missing.update(f"{name}.{each}" for each in declared[name] if each not in given)
            elif not _is_said(name, turns[:place]):
                undeclared.add(name)
    return undeclared, missing


def _read_declared(turns: Turns) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name of each declared function and its required arguments."""
    for role, text in turns:
        for tool in json.loads(text) if role == "tools" else ():
            function = tool.get("function", tool)
            if not isinstance(function, dict) or not isinstance(function.get("name"), str):
                continue
            yield function["name"], tuple(_read_required(function))


def _read_required(function: Mapping[str, Any]) -> Iterator[str]:
    schema = function.get("parameters", function.get("input_schema"))
    required = schema.get("required") if isinstance(schema, dict) else None
    given = required if isinstance(required, list) else ()
    return (name for name in given if isinstance(name, str))


def _is_said(name: str, turns: Turns) -> bool:
    """Return whether a message names the function, as system messages that list tools do."""
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return any(whole.search(text) for role, text in turns if role in ("system", "user"))


def _are_described(turns: Turns) -> bool:
    """Return whether the messages name every declared tool as well."""
    return all(_is_said(name, turns) for name, _ in _read_declared(turns))
