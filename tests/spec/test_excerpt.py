"""The excerpt: a line and a caret, for any content of the line."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.spec.findings.finding import Position
from ftc.spec.text.document import Lines
from ftc.spec.text.excerpt import excerpt


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("abc", 1, 2, "1 | abc\n  |  ^"),
        ("a\nbcd\ne", 2, 3, "2 | bcd\n  |   ^"),
        ("abc\r\nd", 1, 4, "1 | abc\n  |    ^"),
        ("\ta", 1, 2, "1 |     a\n  |     ^"),
        ("支援x", 1, 3, "1 | 支援x\n  |     ^"),
        ("e\u0301x", 1, 3, "1 | e\u0301x\n  |  ^"),
        ("\x1b[31m", 1, 2, "1 | ␛[31m\n  |  ^"),
        ("a\x7fb", 1, 3, "1 | a␡b\n  |   ^"),
        ("a\u202eb", 1, 3, "1 | a\\u202eb\n  |        ^"),
        ("a\u2028b", 1, 1, "1 | a\\u2028b\n  | ^"),
        ("", 1, 1, "1 | \n  | ^"),
        ("a", 9, 5, "9 | \n  | ^"),
        ("x\n" * 11, 11, 1, "11 | x\n   | ^"),
    ],
)
def test_excerpt(text: str, line: int, column: int, expected: str) -> None:
    """The caret stands under the column."""
    assert excerpt(text, Position(line=line, column=column)) == expected


def test_long_line_is_cut_around_the_caret() -> None:
    """Both ends of a long line are cut, and the caret still points at its character."""
    shown, caret = excerpt("a" * 500 + "X" + "b" * 500, Position(line=1, column=501)).split("\n")
    assert len(shown) <= 106
    assert shown.startswith("1 | …")
    assert shown.endswith("…")
    assert shown[caret.index("^")] == "X"


def test_start_of_a_long_line() -> None:
    """Nothing is cut before a caret at the start."""
    shown, caret = excerpt("X" + "b" * 500, Position(line=1, column=1), width=10).split("\n")
    assert shown == "1 | Xbbbbbbbbb…"
    assert caret == "  | ^"


@given(st.text(max_size=200), st.integers(0, 200), st.integers(1, 40))
def test_any_text(text: str, offset: int, width: int) -> None:
    """Any text gives two lines without control characters."""
    shown, caret = excerpt(
        text, Lines.of(text).position(min(offset, len(text))), width=width
    ).split("\n")
    assert all(it.isprintable() or unicodedata.combining(it) for it in shown + caret)
    assert caret.endswith("^")
