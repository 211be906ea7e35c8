"""Long lines of generated Python: comments move above, code and literals stay."""

import ast
import subprocess
import sys
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ftc.compiler.render.output.comment_wrapping import wrap_comments
from ftc.compiler.render.output.values import Comment, Literal

REASON = "the longest row has many tokens and this sentence goes on about it for quite a while"


def test_a_short_line_is_left_alone() -> None:
    """The reason stays beside its number where there is room."""
    text = "RATE = 2e-05  # the usual rate\n"

    assert wrap_comments(text) == text


def test_a_long_reason_goes_above() -> None:
    """The reason is wrapped above the constant, whole."""
    text = f"A = 1\nRATE = 2e-05  # {REASON}, {REASON}\nB = 2\n"

    laid = wrap_comments(text).split("\n")

    assert laid[0] == "A = 1"
    assert laid[-3:] == ["RATE = 2e-05", "B = 2", ""]
    assert " ".join(line.removeprefix("# ") for line in laid[1:-3]) == f"{REASON}, {REASON}"
    assert max(map(len, laid)) <= 100


def test_a_hash_in_a_literal_is_no_comment() -> None:
    """Only what Python calls a comment moves; the long line is exempted."""
    text = f"NAME = '# {'x' * 120}'\n"

    assert wrap_comments(text) == text.rstrip() + "  # noqa: E501\n"


JSON_VALUES = st.recursive(
    st.none() | st.integers() | st.text("xyz", min_size=1, max_size=130),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text("k", min_size=1), inner),
    max_leaves=20,
)


@settings(max_examples=20)
@given(st.lists(st.tuples(JSON_VALUES, st.text("w ", max_size=150)), min_size=1, max_size=40))
def test_the_formatter_changes_nothing(constants: list[tuple[Any, str]]) -> None:
    """Constants of any length, and their reasons, are laid out as `ruff format` does it."""
    lines = [
        f"N{place} = {Literal(value)}  # why {why}" for place, (value, why) in enumerate(constants)
    ]
    text = wrap_comments("\n".join(map(str.rstrip, lines)) + "\n")

    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "100", "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == text


@given(st.text(), st.text(max_size=300))
def test_the_code_is_the_same(value: str, reason: str) -> None:
    """Whatever a value and its reason hold, laying out changes no syntax tree."""
    text = f"VALUE = {Literal(value)}  # {Comment(reason)}\n"

    assert ast.dump(ast.parse(wrap_comments(text))) == ast.dump(ast.parse(text))
