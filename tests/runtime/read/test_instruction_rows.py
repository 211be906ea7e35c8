"""Rows of an instruction, an input that not every row has, and an output."""

from typing import Any

import pytest

from ftc.runtime.read.instruction_rows import read_instruction

COLUMNS = {"instruction": "do", "output": "done", "input": "with"}


def read(row: dict[str, Any], **columns: str) -> Any:
    """Return the turns of a row."""
    return read_instruction(row, **{**COLUMNS, **columns})


@pytest.mark.parametrize(
    ("row", "question"),
    [
        ({"do": "Add", "with": "1 2", "done": "3"}, "Add\n\n1 2"),
        ({"do": " Add \n", "with": "\n1 2\n", "done": "3"}, "Add\n\n1 2"),
        ({"do": "Add", "with": 12, "done": "3"}, "Add\n\n12"),
        ({"do": "Add", "with": "", "done": "3"}, "Add"),
        ({"do": "Add", "with": " \u3000\n", "done": "3"}, "Add"),
        ({"do": "Add", "with": None, "done": "3"}, "Add"),
        ({"do": "Add", "done": "3"}, "Add"),
    ],
)
def test_the_input_comes_after_the_instruction(row: dict[str, Any], question: str) -> None:
    """A row without one has the instruction alone."""
    assert read(row) == (("user", question), ("assistant", "3"))


def test_a_column_of_inputs_is_not_needed() -> None:
    """The cell of another column is not read."""
    row = {"do": "Add", "with": "1 2", "done": "3"}

    assert read_instruction(row, instruction="do", output="done")[0] == ("user", "Add")


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"do": ["Add"], "with": "1", "done": "3"}, "not_text"),
        ({"do": "Add", "with": {"a": 1}, "done": "3"}, "not_text"),
        ({"do": "Add", "with": "1", "done": [3]}, "not_text"),
        ({"do": " ", "with": "1", "done": "3"}, "blank"),
        ({"with": "1", "done": "3"}, "blank"),
    ],
)
def test_what_is_no_row_has_a_reason(row: dict[str, Any], fault: str) -> None:
    """Lists and objects are no texts, and an input alone is no instruction."""
    assert read(row) == fault
