"""Reads rows that have each text in a column of its own. Standard library only.

The forms are prompt and completion, and plain text. A prompt and its completion may be lists of
messages, as TRL's conversational data sets have them.
"""

from typing import Any

from .chat_rows import find_disorder, read_messages
from .cleaning import is_blank
from .rows import Fault, Row, Turns


def read_answer(row: Row, *, prompt: str, completion: str) -> Turns | Fault:
    """Return a prompt and its answer; the arguments are columns.

    Where either is a list of messages, the turns are those of the prompt and of the completion.
    """
    asked, said = row.get(prompt), row.get(completion)
    if not (_has_messages(asked) or _has_messages(said)):
        return join_texts(read_cell(asked), read_cell(said))
    before, after = read_turns(asked, role="user"), read_turns(said, role="assistant")
    if isinstance(before, str) or isinstance(after, str):
        return before if isinstance(before, str) else after
    turns = (*before, *after)
    return find_disorder(turns) or turns


def read_text(row: Row, *, text: str) -> Turns | Fault:
    """Return the text of a row as its only turn; `text` is the column."""
    found = read_cell(row.get(text))
    return "not_text" if found is None else (("text", found),)


def read_cell(cell: Any) -> str | None:
    """Return a cell as text: an empty one is "", a number its digits, a list or object None."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, list | dict):
        return None
    return "" if cell is None else str(cell)


def _has_messages(cell: Any) -> bool:
    """Tell whether a cell is a list of messages, or its JSON."""
    if isinstance(cell, str):
        return cell.lstrip().startswith("[{") and not isinstance(read_messages(cell), str)
    return isinstance(cell, list) and bool(cell) and isinstance(cell[0], dict)


def read_turns(cell: Any, *, role: str) -> Turns | Fault:
    """Read a list of messages as turns, any other cell as one turn of `role`."""
    if _has_messages(cell):
        return read_messages(cell)
    text = read_cell(cell)
    if text is None:
        return "not_text"
    return "blank" if role == "user" and is_blank(text) else ((role, text),)


def join_texts(question: str | None, answer: str | None) -> Turns | Fault:
    """Return a question and its answer as turns."""
    if question is None or answer is None:
        return "not_text"
    if is_blank(question):
        return "blank"
    return (("user", question), ("assistant", answer))
