"""Reads rows that have a prompt without an answer. Standard library only."""

from .chat_rows import find_disorder
from .rows import Fault, Row, Turns, is_prompt
from .text_rows import read_turns


def read_prompt(row: Row, *, prompt: str) -> Turns | Fault:
    """Return a prompt without an answer; `prompt` is the column."""
    cell = row.get(prompt)
    turns = "blank" if cell == [] else read_turns(cell, role="user")
    if isinstance(turns, str):
        return turns
    fault = find_disorder(turns)
    if fault == "unanswered":  # as it should be, unless all that is there is a system message
        return turns if is_prompt(turns) else "order"
    return fault or "answered"
