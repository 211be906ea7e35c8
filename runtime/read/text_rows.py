"""Reads rows that have each text in a separate column. Standard library only.

The forms are prompt and completion, and plain text.
"""

from typing import Any

from .cleaning import is_blank
from .rows import Fault, NamedClass, Row, Turns


def read_texts(row: Row, *, prompt: str, completion: str) -> Turns | Fault:
    """Return a prompt and its answer; the arguments are columns."""
    return join_texts(read_cell(row.get(prompt)), read_cell(row.get(completion)))


def read_text(row: Row, *, text: str) -> Turns | Fault:
    """Return the text of a row as its only turn; `text` is the column."""
    found = read_cell(row.get(text))
    return "not_text" if found is None else (("text", found),)


def read_cell(cell: Any) -> str | None:
    """Return a cell as text: an empty one or NaN is "", a number its digits, a list or object None.

    A boolean is `true` or `false`, as JSON writes it. Bytes are the text that they encode in UTF-8,
    or None. A class of the file is its name.
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, NamedClass):
        return cell.name
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, list | dict):
        return None
    if isinstance(cell, bytes):
        try:
            return cell.decode()
        except UnicodeDecodeError:
            return None
    is_missing = cell is None or cell != cell  # noqa: PLR0124 - NaN alone differs from itself
    return "" if is_missing else str(cell)


def join_texts(question: str | None, answer: str | None) -> Turns | Fault:
    """Return a question and its answer as turns."""
    if question is None or answer is None:
        return "not_text"
    if is_blank(question):
        return "blank"
    return (("user", question), ("assistant", answer))
