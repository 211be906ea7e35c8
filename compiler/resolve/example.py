"""One example: what a row of data says, in the one form that cleaning and lengths look at.

A row is malformed when a needed column holds a list or an object where text belongs, or when a
conversation is not: an optional system turn, then user and assistant in turns (a tool's turn may
follow an assistant's), the last one the assistant's. It is blank when a needed text is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ftc.compiler.resolve.cleaning import (
    clean_text,
    has_control,
    is_blank,
    is_misencoded,
    is_whole,
)
from ftc.compiler.resolve.conversation import Fault, Turn, find_disorder, read_messages
from ftc.compiler.resolve.preference import read_pair, read_verdict
from ftc.compiler.resolve.roles import Roles
from ftc.compiler.resolve.tools import read_tools
from ftc.spec.sections import Form

#: What may be wrong with a text that is one: see `cleaning.py`; "lost" is U+FFFD in it.
Damage = Literal["misencoded", "lost", "control"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """`turns` are (role, text) pairs, the answer last; plain text is one turn of role `text`.

    A preference ends with a turn of the role `chosen` and one of the role `rejected`, feedback with
    the answer and a turn of the role `label`: "true" or "false".
    """

    turns: tuple[Turn, ...]
    damage: tuple[Damage, ...] = ()

    @property
    def compares(self) -> bool:
        """Whether it holds two answers to its prompt."""
        return self.turns[-1][0] == "rejected"

    @property
    def prompt(self) -> tuple[Turn, ...]:
        """The turns before the answer, or before the answers that are compared."""
        return self.turns[:-2] if self.compares or self.verdict else self.turns[:-1]

    @property
    def verdict(self) -> str:
        """What was said of the answer, "true" or "false"; empty where nothing was."""
        return self.turns[-1][1] if self.turns[-1][0] == "label" else ""

    @property
    def answer(self) -> str:
        """The text that the last turn holds."""
        return self.turns[-1][1]


def read_example(row: Mapping[str, Any] | None, roles: Roles, *, repair: bool) -> Example | Fault:
    """Return what the row says, cleaned; None stands for a row that could not be read."""
    if row is None:
        return "unreadable"
    turns = _READERS[roles.form](row, roles)
    if isinstance(turns, str):
        return turns
    cleaned: list[Turn] = []
    damage: dict[Damage, None] = {}
    for role, text in turns:
        if not is_whole(text):
            return "not_whole"
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
    """Read a list of messages whose roles come in their order."""
    turns = read_messages(row.get(roles.messages or ""), calls=True)
    tools = read_tools(row.get(roles.tools)) if roles.tools else ()
    if isinstance(turns, str) or isinstance(tools, str):
        return turns if isinstance(turns, str) else "no_tools"
    return find_disorder(turns) or (*tools, *turns)


def _pair(row: Mapping[str, Any], roles: Roles) -> tuple[Turn, ...] | Fault:
    """Read two answers to one prompt."""
    columns = roles.chosen or "", roles.rejected or ""
    return read_pair(row, prompt=roles.prompt, chosen=columns[0], rejected=columns[1])


def _feedback(row: Mapping[str, Any], roles: Roles) -> tuple[Turn, ...] | Fault:
    """Read an answer and the verdict on it."""
    prompt, completion, label = roles.prompt or "", roles.completion or "", roles.label or ""
    return read_verdict(row, prompt=prompt, completion=completion, label=label)


_READERS: Final[Mapping[Form, Callable[[Mapping[str, Any], Roles], tuple[Turn, ...] | Fault]]] = {
    "chat": _conversation,
    "prompt_completion": _fields,
    "instruction": _fields,
    "text": _fields,
    "preference": _pair,
    "feedback": _feedback,
}
