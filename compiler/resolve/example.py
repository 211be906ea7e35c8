"""One example: what a row of data says, in the one form that cleaning and lengths look at.

A row is malformed when a needed column holds a list or an object where text belongs, or when a
conversation is not: an optional system turn, then user and assistant in turns (a tool's turn may
follow an assistant's), the last one the assistant's. It is blank when a needed text is.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ftc.compiler.resolve.cleaning import clean_text, has_control, is_blank, is_misencoded
from ftc.compiler.resolve.roles import Roles

Turn = tuple[str, str]
#: What may be wrong with a text that is one: see `cleaning.py`; "lost" is U+FFFD in it.
Damage = Literal["misencoded", "lost", "control"]
#: Why a row is no example: blank, or malformed in one of the other ways.
Fault = Literal["blank", "unreadable", "not_text", "no_list", "no_turn", "order", "unanswered"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """`turns` are (role, text) pairs, the answer last; plain text is one turn of role `text`."""

    turns: tuple[Turn, ...]
    damage: tuple[Damage, ...] = ()

    @property
    def answer(self) -> str:
        """The text that the last turn holds."""
        return self.turns[-1][1]


def read_example(row: Mapping[str, Any] | None, roles: Roles, *, repair: bool) -> Example | Fault:
    """Return what the row says, cleaned; None stands for a row that could not be read."""
    if row is None:
        return "unreadable"
    turns = _conversation(row, roles) if roles.messages else _fields(row, roles)
    if isinstance(turns, str):
        return turns
    cleaned: list[Turn] = []
    damage: dict[Damage, None] = {}
    for role, text in turns:
        kept = clean_text(text, repair=repair)
        if not kept:
            return "blank"
        cleaned.append((role, kept))
        if is_misencoded(text):
            damage["misencoded"] = None
            damage |= {"lost": None} if "\ufffd" in kept else {}
        if has_control(kept):
            damage["control"] = None
    return Example(turns=tuple(cleaned), damage=tuple(damage))


def _fields(row: Mapping[str, Any], roles: Roles) -> tuple[Turn, ...] | Fault:
    """Read the forms that keep each text in a column of its own."""
    if roles.text is not None:
        text = _text(row, roles.text)
        return "not_text" if text is None else (("text", text),)
    question = _text(row, roles.prompt or roles.instruction)
    answer = _text(row, roles.completion or roles.output)
    more = _text(row, roles.input) if roles.input else ""
    if question is None or answer is None or more is None:
        return "not_text"
    if is_blank(question):
        return "blank"
    if not is_blank(more):
        question = f"{question.strip()}\n\n{more.strip()}"
    return (("user", question), ("assistant", answer))


def _text(row: Mapping[str, Any], column: str | None) -> str | None:
    """Return a cell as text: a missing one is empty, a number its digits, a structure None."""
    value = row.get(column) if column is not None else None
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        return None
    return "" if value is None else str(value)


def _conversation(row: Mapping[str, Any], roles: Roles) -> tuple[Turn, ...] | Fault:
    """Read a list of messages; a file of text columns holds it as JSON."""
    messages = row.get(roles.messages or "")
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
    turns, before = [], ""
    for message in messages:
        turn = _turn(message)
        if turn is None:
            return "no_turn"
        if turn[0] not in _FOLLOWS[before]:
            return "order"
        turns.append(turn)
        before = turn[0]
    return tuple(turns) if before == "assistant" else "unanswered"


def _turn(message: Any) -> Turn | None:
    """Read `{"role", "content"}`, or ShareGPT's `{"from", "value"}`."""
    if not isinstance(message, dict):
        return None
    role = message.get("role", message.get("from"))
    content = message.get("content", message.get("value"))
    known = ROLES.get(role) if isinstance(role, str) else None
    return (known, content) if known is not None and isinstance(content, str) else None
