"""Conversations: lists of messages as the field writes them, and the order that roles must have."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final, Literal

from ftc.compiler.resolve.cleaning import is_blank
from ftc.compiler.resolve.tools import CALLERS, read_calls

Turn = tuple[str, str]
#: Why a row is no example: blank, or malformed in one of the other ways.
Fault = Literal[
    "blank", "unreadable", "not_text", "not_whole", "no_list", "no_turn", "order", "unanswered",
    "no_prompt", "two_prompts", "same_answers", "no_label", "no_tools",
]  # fmt: skip

ROLES: Final[Mapping[str, str]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "observation": "tool",
}
_FOLLOWS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"system", "user"}),
    "system": frozenset({"user"}),
    "user": frozenset({"assistant", "calls"}),
    "assistant": frozenset({"user", "tool", "calls"}),
    "calls": frozenset({"tool"}),
    "tool": frozenset({"assistant", "tool", "calls"}),
}


def read_messages(messages: Any, *, calls: bool = False) -> tuple[Turn, ...] | Fault:
    """Read a list of messages, in any order of roles; a file of text columns holds it as JSON.

    With `calls` the assistant may call tools, as in `tools.py`.
    """
    if isinstance(messages, str):
        if is_blank(messages):
            return "blank"
        try:
            messages = json.loads(messages)
        except (ValueError, RecursionError):
            return "no_list"
    if messages is None or messages == []:
        return "blank"
    if not isinstance(messages, list):
        return "no_list"
    turns: list[Turn] = []
    for message in _order_results(messages) if calls else messages:
        read = _read_calling(message) if calls else _read_turn(message)
        if read is None:
            return "no_turn"
        turns += read
    return tuple(turns)


def find_disorder(turns: Sequence[Turn]) -> Fault | None:
    """Return what is wrong with the order of the roles: the assistant must come last."""
    before = ""
    for role, _ in turns:
        if role not in _FOLLOWS[before]:
            return "order"
        before = role
    return None if before in ("assistant", "calls") else "unanswered"


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
    """Return the role of a message, by whatever name; None where it has none."""
    role = message.get("role", message.get("from")) if isinstance(message, dict) else None
    return ROLES.get(role) if isinstance(role, str) else None


def _read_calling(message: Any) -> tuple[Turn, ...] | None:
    """Read a message that may call tools."""
    if isinstance(message, dict):
        role = message.get("role", message.get("from"))
        said = isinstance(role, str) and ROLES.get(role) == "assistant"
        if role in CALLERS or (said and message.get("tool_calls")):
            return read_calls(message)
    return _read_turn(message)


def _read_turn(message: Any) -> tuple[Turn] | None:
    """Read `{"role", "content"}`, or ShareGPT's `{"from", "value"}`."""
    if not isinstance(message, dict):
        return None
    role = message.get("role", message.get("from"))
    content = message.get("content", message.get("value"))
    known = ROLES.get(role) if isinstance(role, str) else None
    return ((known, content),) if known is not None and isinstance(content, str) else None
