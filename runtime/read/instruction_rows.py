"""Reads rows that have an instruction and an output. Standard library only."""

from .cleaning import is_blank
from .rows import Fault, Row, Turns
from .text_rows import join_texts, read_cell


def read_instruction(
    row: Row,
    *,
    instruction: str,
    output: str,
    input: str | None = None,  # noqa: A002 - what the field calls it
) -> Turns | Fault:
    """Return an instruction, with its input if it has one, and its answer."""
    more = "" if input is None else read_cell(row.get(input))
    turns = join_texts(read_cell(row.get(instruction)), read_cell(row.get(output)))
    if more is None:
        return "not_text"
    if isinstance(turns, str) or is_blank(more):
        return turns
    (role, question), answer = turns
    return ((role, f"{question.strip()}\n\n{more.strip()}"), answer)
