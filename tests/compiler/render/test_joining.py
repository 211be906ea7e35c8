"""Statements on several lines that fit on one."""

import pytest

from ftc.compiler.render.output.joining import join_short


def test_a_call_that_fits_is_one_line() -> None:
    """The comma that keeps its arguments apart goes; other statements stay as they are."""
    text = "job = Job(\n    run=run,\n    rows=[\n        1,\n        2,\n    ],\n)\nb = 2\n"

    assert join_short(text) == "job = Job(run=run, rows=[1, 2])\nb = 2\n"


@pytest.mark.parametrize(
    "text",
    [
        "job = Job(\n    run=run,  # why\n)\n",
        'text = """\n(\n"""\n',
        'said = f(\n    "one "\n    "two"\n)\n',
        "pair = (\n    1,\n)\n",
        "total = (\n    first + second\n)\n",
        f"job = Job(\n    {'a' * 60},\n    {'b' * 60},\n)\n",
    ],
)
def test_what_the_formatter_keeps_apart_stays(text: str) -> None:
    """Comments, texts, tuples of one item, brackets that it would remove, and long lines."""
    assert join_short(text) == text


def test_a_statement_inside_a_function_keeps_its_indentation() -> None:
    """Of nested blocks, each statement is looked at."""
    text = "def f():\n    if a:\n        return g(\n            a,\n            b,\n        )\n"

    assert join_short(text) == "def f():\n    if a:\n        return g(a, b)\n"
