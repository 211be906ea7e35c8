"""Reads conversations in which the assistant calls tools. Standard library only.

Turns stay pairs of a role and a text. `tools` is the JSON list of the tools, before all other
turns. `calls` is the JSON list of an assistant's calls, after any text of the same message.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from .chat_rows import (
    add_reasoning,
    calls_of,
    content_of,
    end_chat,
    find_role,
    load_messages,
    read_turn,
    weigh,
    why_no_turn,
)
from .cleaning import is_blank
from .json_files import parse_cell
from .rows import Fault, Row, Turn, Turns, Unlearned

Message = dict[str, Any]

#: ShareGPT's names for a message that is only a tool call.
CALLERS: Final = ("function_call", "tool_call")
#: The keys of a function that is not wrapped in a tool.
_FUNCTION: Final = frozenset({"name", "parameters"})


def read_calling_chat(row: Row, *, messages: str, tools: str | None = None) -> Turns | Fault:
    """Return the turns of a conversation; the arguments are columns."""
    turns = read_calling_messages(row.get(messages))
    offered = read_tools(row.get(tools)) if tools is not None else ()
    if isinstance(turns, str) or isinstance(offered, str):
        return turns if isinstance(turns, str) else "no_tools"
    whole = end_chat(turns)
    return whole if isinstance(whole, str) else (*offered, *_fit_calls(whole, offered))


def read_calling_messages(cell: Any) -> Turns | Fault:
    """Return the turns of a list of messages, with the roles in any order."""
    messages = load_messages(cell)
    if isinstance(messages, str):
        return messages
    turns: list[Turn] = []
    for message in _order_results(messages):
        read = _read_message(message)
        if read is None:
            return "bad_call" if _calls(message) else why_no_turn(message)
        turns += read
    return tuple(turns)


def read_tools(cell: Any) -> Turns | Fault:
    """Read a row's list of tools, or its JSON text; return one turn, or none for an empty cell.

    A function by itself, as in the older form of OpenAI's, becomes a tool. Null keys of a schema
    are dropped: see `_fit_calls`.
    """
    if isinstance(cell, str):
        try:
            cell = None if is_blank(cell) else parse_cell(cell)
        except ValueError:
            return "no_tools"
    if cell is None or cell == []:
        return ()
    if not isinstance(cell, list) or not all(isinstance(tool, dict) for tool in cell):
        return "no_tools"
    tools = [{"type": "function", "function": t} if t.keys() >= _FUNCTION else t for t in cell]
    return (("tools", json.dumps(_drop_nulls(tools), ensure_ascii=False)),)


def _drop_nulls(value: Any) -> Any:
    """Return a schema without its null keys, except a default or a constant, which may be null."""
    if isinstance(value, list):
        return list(map(_drop_nulls, value))
    if not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if v is not None or k in ("default", "const")}
    return {key: _drop_nulls(each) for key, each in kept.items()}


def _fit_calls(turns: Turns, offered: Turns) -> Turns:
    """Drop null arguments that the called tool does not declare.

    Programs that write a table as JSON give every object in a column the keys of all the others.
    """
    has: dict[str, Mapping[str, Any]] = {}
    for tool in json.loads(offered[0][1]) if offered else ():
        function = tool.get("function", tool)
        function = function if isinstance(function, dict) else {}
        name, schema = function.get("name"), function.get("parameters")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if isinstance(name, str) and isinstance(properties, dict):
            has[name] = properties

    def fit(text: str) -> str:
        calls = json.loads(text)
        for function in (call["function"] for call in calls if call["function"]["name"] in has):
            known, given = has[function["name"]], function["arguments"]
            function["arguments"] = {k: v for k, v in given.items() if v is not None or k in known}
        return json.dumps(calls, ensure_ascii=False)

    return tuple([(role, fit(text) if has and role == "calls" else text) for role, text in turns])


def read_calls(message: Mapping[str, Any]) -> Turns | None:
    """Read the calls of a message of OpenAI's or ShareGPT's shape, or None if they are broken.

    An assistant's text beside its calls becomes a turn before them.
    """
    content = content_of(message)
    if message.get("role", message.get("from")) in CALLERS:
        calls, said = content, ""
        try:
            calls = json.loads(calls) if isinstance(calls, str) else calls
        except (ValueError, RecursionError):
            return None
    else:
        calls, said = calls_of(message), content or ""
        said = add_reasoning(said, message) if isinstance(said, str) else said
    calls = [calls] if isinstance(calls, dict) else calls
    if not isinstance(calls, list) or not calls or not isinstance(said, str):
        return None
    read = [_read_call(call) for call in calls]
    if None in read:
        return None
    before = () if is_blank(said) else ((weigh("assistant", message), said),)
    return (*before, (weigh("calls", message), json.dumps(read, ensure_ascii=False)))


def to_messages(turns: Sequence[Turn]) -> tuple[list[Message], list[Any] | None]:
    """Return the messages and the tools of a conversation, as `apply_chat_template` takes them."""
    messages: list[Message] = []
    tools, waiting = None, list[Message]()
    for role, text in turns:
        if role == "tools":
            tools = json.loads(text)
        elif role == "calls":
            if not messages or messages[-1]["role"] != "assistant":
                caller = Unlearned("assistant") if isinstance(role, Unlearned) else "assistant"
                messages.append({"role": caller, "content": ""})
            messages[-1]["tool_calls"] = json.loads(text)
            waiting = list(messages[-1]["tool_calls"])
        elif role == "tool" and waiting:
            call = waiting.pop(0)
            named = {"name": call["function"]["name"]}
            named |= {"tool_call_id": call["id"]} if "id" in call else {}
            messages.append({"role": role, "content": text, **named})
        else:
            messages.append({"role": role, "content": text})
    return messages, tools


def _order_results(messages: Sequence[Any]) -> list[Any]:
    """Return messages with the results of tools in the order of their calls, by their ids."""
    ordered: list[Any] = []
    ids: list[Any] = []
    for role, group in groupby(messages, _role_of):
        found = list(group)
        if role == "tool" and all(message.get("tool_call_id") in ids for message in found):
            found.sort(key=lambda message: ids.index(message.get("tool_call_id")))
        called = found[-1].get("tool_calls") if isinstance(found[-1], dict) else None
        called = called if isinstance(called, list) else []
        ids = [call.get("id") for call in called if isinstance(call, dict)]
        ordered += found
    return ordered


def _role_of(message: Any) -> str | None:
    role = message.get("role", message.get("from")) if isinstance(message, dict) else None
    return find_role(role)


def _read_message(message: Any) -> Turns | None:
    """Read a message that may call tools."""
    if _calls(message):
        return read_calls(message)
    turn = read_turn(message)
    return None if turn is None else (turn,)


def _calls(message: Any) -> bool:
    """Return whether a message calls tools."""
    if not isinstance(message, dict):
        return False
    role = message.get("role", message.get("from"))
    return role in CALLERS or (find_role(role) == "assistant" and bool(calls_of(message)))


def _read_call(call: Any) -> Message | None:
    """Read a call, whose arguments may be the JSON of an object."""
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments", {})
    try:
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict):
        return None
    number = {"id": call["id"]} if isinstance(call.get("id"), str) else {}
    called = {"name": function["name"], "arguments": arguments}
    return {**number, "type": "function", "function": called}
