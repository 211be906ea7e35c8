"""Conversations: lists of messages as the field writes them, and the order that roles must have."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from ftc.compiler.resolve.cleaning import is_blank

Turn = tuple[str, str]
#: Why a row is no example: blank, or malformed in one of the other ways.
Fault = Literal[
    "blank", "unreadable", "not_text", "no_list", "no_turn", "order", "unanswered", "no_prompt",
    "two_prompts", "same_answers", "no_label",
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
}
_FOLLOWS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"system", "user"}),
    "system": frozenset({"user"}),
    "user": frozenset({"assistant"}),
    "assistant": frozenset({"user", "tool"}),
    "tool": frozenset({"assistant", "tool"}),
}


def read_messages(messages: Any) -> tuple[Turn, ...] | Fault:
    """Read a list of messages, in any order of roles; a file of text columns holds it as JSON."""
    if isinstance(messages, str):
        if is_blank(messages):
            return "blank"
        try:
            messages = json.loads(messages)
        except ValueError:
            return "no_list"
    if messages is None or messages == []:
        return "blank"
    if not isinstance(messages, list):
        return "no_list"
    turns = [turn for turn in map(_read_turn, messages) if turn is not None]
    return tuple(turns) if len(turns) == len(messages) else "no_turn"


def find_disorder(turns: Sequence[Turn]) -> Fault | None:
    """Return what is wrong with the order of the roles: the assistant must come last."""
    before = ""
    for role, _ in turns:
        if role not in _FOLLOWS[before]:
            return "order"
        before = role
    return None if before == "assistant" else "unanswered"


def _read_turn(message: Any) -> Turn | None:
    """Read `{"role", "content"}`, or ShareGPT's `{"from", "value"}`."""
    if not isinstance(message, dict):
        return None
    role = message.get("role", message.get("from"))
    content = message.get("content", message.get("value"))
    known = ROLES.get(role) if isinstance(role, str) else None
    return (known, content) if known is not None and isinstance(content, str) else None
