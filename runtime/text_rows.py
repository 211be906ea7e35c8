"""Reads rows that have each text in a column of its own. Standard library only.

The forms are prompt and completion, instruction and output, and plain text.
"""

from typing import Any

from .cleaning import is_blank
from .rows import Fault, Row, Turns


def read_answer(row: Row, *, prompt: str, completion: str) -> Turns | Fault:
    """Return a prompt and its answer; the arguments are columns."""
    return _join(read_cell(row.get(prompt)), read_cell(row.get(completion)), "")


def read_instruction(
    row: Row,
    *,
    instruction: str,
    output: str,
    input: str | None = None,  # noqa: A002 - what the field calls it
) -> Turns | Fault:
    """Return an instruction, with its input if it has one, and its answer."""
    more = "" if input is None else read_cell(row.get(input))
    return _join(read_cell(row.get(instruction)), read_cell(row.get(output)), more)


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


def _join(question: str | None, answer: str | None, more: str | None) -> Turns | Fault:
    if question is None or answer is None or more is None:
        return "not_text"
    if is_blank(question):
        return "blank"
    if more and not is_blank(more):
        question = f"{question.strip()}\n\n{more.strip()}"
    return (("user", question), ("assistant", answer))
