"""The printable types: whole literals, one-line comments, closed words, escaped Markdown."""

import ast
import tokenize
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from ftc.compiler.render.output.environment import BareValueError, make_environment
from ftc.compiler.render.output.values import Comment, Literal, Markdown, Word

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inside: st.lists(inside, max_size=5) | st.dictionaries(st.text(), inside, max_size=5),
    max_leaves=20,
)


@given(PLAIN)
def test_a_literal_gives_its_value_back(value: Any) -> None:
    """What is printed on the right of a constant is that value, without unseen characters."""
    text = str(Literal(value))

    assert all(line.isprintable() for line in text.split("\n"))
    assert value == ast.literal_eval(text)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("categoría", '"categoría"'),
        ("a\u202eb", '"a\\u202eb"'),
        ("\u05d0", '"\\u05d0"'),
        ("a\u3164", '"a\\u3164"'),
        ("e\u0301", '"e\\u0301"'),
        ("\u2028", '"\\u2028"'),
    ],
)
def test_only_letters_that_are_seen_stay(value: str, written: str) -> None:
    """Accents stay readable; what hides or reorders text is escaped."""
    assert str(Literal(value)) == written


@given(st.text())
def test_a_comment_stays_a_comment(text: str) -> None:
    """Nothing behind the hash is read as code."""
    source = f"X = 1  # {Comment(text)}\n"
    kinds = [token.type for token in tokenize.generate_tokens(StringIO(source).readline)]

    assert kinds.count(tokenize.NAME) == 1
    assert source.count("\n") == 1


@pytest.mark.parametrize("text", ["", "a b", "$(x)", "a;b", "-rf", "x\n", "é"])
def test_a_word_is_refused(text: str) -> None:
    """Only letters, digits, dots, dashes and underscores make a word."""
    with pytest.raises(ValueError, match="closed table"):
        Word(text)


def test_markdown_is_escaped() -> None:
    """Markup of a spec is shown, not read; plain words stay as they are."""
    text = str(Markdown("<b>[x](y)</b>\n# `z` | 1.5 (www.a.b) http://c"))

    assert text == r"&lt;b\>\[x\](y)&lt;/b\> \# `z` \| 1.5 (www\.a.b) http\://c"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("`training.early_stopping` is on", "`training.early_stopping` is on"),
        ("``a`", r"\`\`a\`"),
        ("`a``", r"\`a\`\`"),
        (r"\`a`", r"\\\`a\`"),
        ("`a|b` and `c_d`", r"\`a\|b\` and `c_d`"),
        ("`<b>`", r"\`&lt;b\>\`"),
    ],
)
def test_harmless_code_stays_code(text: str, written: str) -> None:
    """Without a backslash inside of it, which a reader would see."""
    assert str(Markdown(text)) == written


@pytest.mark.parametrize("value", ["text", 1, None, ["a"]])
def test_a_bare_value_is_refused(value: object) -> None:
    """A template prints nothing that is not a whole token."""
    template = make_environment().from_string("{{ value }}")

    with pytest.raises(BareValueError):
        template.render(value=value)


def test_an_undefined_name_is_refused() -> None:
    """A misspelt name in a template is an error, not an empty string."""
    with pytest.raises(UndefinedError):
        make_environment().from_string("{{ value.max_lenght }}").render(value={})


@pytest.mark.parametrize(("value", "flag"), [("text", "True"), ("", "False"), (None, "False")])
def test_a_condition_is_printed_as_a_boolean(value: object, flag: str) -> None:
    """A `flag` prints no value that it reads, and a `switch` that is off is not defined."""
    assert make_environment().from_string("{{ value | flag }}").render(value=value) == flag
    switch = make_environment().from_string("{{ value | switch }}")
    if flag == "True":
        assert switch.render(value=value) == "True"
    else:
        with pytest.raises(UndefinedError):
            switch.render(value=value)
