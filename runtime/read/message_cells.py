"""Reads rows whose prompt or completion may be a list of messages, or its JSON.

TRL's conversational data sets have them. A prompt can also be alone. Standard library only.
"""

from typing import Any

from .chat_rows import end_chat, find_disorder, read_messages
from .cleaning import is_blank
from .rows import Fault, Row, Turns, is_prompt
from .text_rows import read_cell, read_texts


def read_answer(row: Row, *, prompt: str, completion: str) -> Turns | Fault:
    """Return the turns of the prompt and of the completion; the arguments are columns."""
    asked, said = row.get(prompt), row.get(completion)
    if not (_has_messages(asked) or _has_messages(said)):
        return read_texts(row, prompt=prompt, completion=completion)
    before, after = read_turns(asked, role="user"), read_turns(said, role="assistant")
    if isinstance(before, str) or isinstance(after, str):
        return before if isinstance(before, str) else after
    turns = (*before, *after)
    return end_chat(turns)


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


def read_turns(cell: Any, *, role: str) -> Turns | Fault:
    """Read a list of messages as turns, any other cell as one turn of `role`."""
    if _has_messages(cell):
        return read_messages(cell)
    text = read_cell(cell)
    if text is None:
        return "not_text"
    return "blank" if role == "user" and is_blank(text) else ((role, text),)


def _has_messages(cell: Any) -> bool:
    """Return whether a cell is a list of messages, or its JSON."""
    if isinstance(cell, str):
        return cell.lstrip().startswith("[{") and not isinstance(read_messages(cell), str)
    return isinstance(cell, list) and bool(cell) and isinstance(cell[0], dict)
