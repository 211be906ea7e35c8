"""Tools: calls of functions in a conversation, as the field writes them and as templates take them.

Turns stay pairs of a role and a text: `tools` is the JSON list of what may be called, before all
others, and `calls` that of the calls that an assistant makes, behind what it says besides.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from ftc.compiler.resolve.cleaning import is_blank

Turn = tuple[str, str]
Message = dict[str, Any]

#: ShareGPT's names for a message that is nothing but a call.
CALLERS: Final = ("function_call", "tool_call")


def read_tools(cell: Any) -> tuple[Turn, ...] | Literal["no_tools"]:
    """Read the list of tools of a row, or its JSON: one turn, none where the cell is empty."""
    if isinstance(cell, str):
        try:
            cell = None if is_blank(cell) else json.loads(cell)
        except (ValueError, RecursionError):
            return "no_tools"
    if cell is None or cell == []:
        return ()
    if not isinstance(cell, list) or not all(isinstance(tool, dict) for tool in cell):
        return "no_tools"
    return (("tools", json.dumps(cell, ensure_ascii=False)),)


def read_calls(message: Mapping[str, Any]) -> tuple[Turn, ...] | None:
    """Read the calls of a message of OpenAI's or ShareGPT's shape; None where they are none.

    What an assistant says beside its calls is a turn before them.
    """
    content = message.get("content", message.get("value"))
    if message.get("role", message.get("from")) in CALLERS:
        calls, said = content, ""
        try:
            calls = json.loads(calls) if isinstance(calls, str) else calls
        except (ValueError, RecursionError):
            return None
    else:
        calls, said = message.get("tool_calls"), content or ""
    calls = [calls] if isinstance(calls, dict) else calls
    if not isinstance(calls, list) or not calls or not isinstance(said, str):
        return None
    read = [_read_call(call) for call in calls]
    if None in read:
        return None
    before = () if is_blank(said) else (("assistant", said),)
    return (*before, ("calls", json.dumps(read, ensure_ascii=False)))


def to_messages(turns: Sequence[Turn]) -> tuple[list[Message], list[Any] | None]:
    """Return the messages and the tools of a conversation, as `apply_chat_template` takes them."""
    messages: list[Message] = []
    tools, waiting = None, list[Message]()
    for role, text in turns:
        if role == "tools":
            tools = json.loads(text)
        elif role == "calls":
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": ""})
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


def with_system(turns: Sequence[Turn], system: str | None) -> tuple[Turn, ...]:
    """Return the turns with a system message where they have none; plain text takes none."""
    first = 1 if turns[0][0] == "tools" else 0
    if system is None or turns[first][0] in ("system", "text"):
        return tuple(turns)
    return (*turns[:first], ("system", system), *turns[first:])


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
