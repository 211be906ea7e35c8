"""The JSON reader agrees with the standard library, has positions, and never crashes."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.spec.findings.finding import Position
from ftc.spec.pointer import join
from ftc.spec.text.document import Lines
from ftc.spec.text.json_reader import read_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
PIECES = st.lists(
    st.sampled_from([*"{}[]:,\"'\\/#*\n\t -+.eE019", "null", "NaN", "true", "\\u", "d83d", "//"]),
    max_size=40,
).map("".join)


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_agrees_with_the_standard_library(value: Any, indent: int | None, ascii_only: bool) -> None:
    """Every valid text is read as `json.loads` reads it, type by type."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    reading = read_json(text)
    assert not reading.findings
    assert json.dumps(reading.data) == json.dumps(json.loads(text))


@given(PIECES | st.text(max_size=30))
def test_any_text(text: str) -> None:
    """A text is read without findings exactly when the standard library reads it."""
    reading = read_json(text)
    try:
        value = json.loads(text, parse_constant=lambda _: pytest.fail("not JSON"))
    except (json.JSONDecodeError, pytest.fail.Exception):
        assert reading.findings
        return
    excused = {"FTC010", "FTC013", "FTC016"}
    assert {finding.code for finding in reading.findings} <= excused
    if not reading.findings:
        assert json.dumps(reading.data) == json.dumps(value)


@given(VALUES)
def test_every_value_has_its_place(value: Any) -> None:
    """The text at a value's position is the value."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    reading, lines = read_json(text), Lines.of(text)

    def check(inner: Any, *parts: str | int) -> None:
        place = reading.positions[join(parts)].value
        offset = lines.starts[place.line - 1] + place.column - 1
        found, _ = json.JSONDecoder().raw_decode(text, offset)
        assert json.dumps(found) == json.dumps(inner)
        if isinstance(inner, dict):
            for key, child in inner.items():
                check(child, *parts, key)
        elif isinstance(inner, list):
            for index, child in enumerate(inner):
                check(child, *parts, index)

    check(value)


def test_keys_have_places() -> None:
    """The position of a key is found, escaped or not."""
    reading = read_json('{"a/b": {\n  "~": 1}}')
    assert reading.positions["/a~1b"].key == Position(line=1, column=2)
    assert reading.positions["/a~1b/~0"].key == Position(line=2, column=3)
    assert reading.positions["/a~1b/~0"].value == Position(line=2, column=8)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_nesting_10000_deep(opening: str) -> None:
    """Deep nesting is a finding, never a RecursionError."""
    (finding,) = read_json(opening * 10_000).findings
    assert finding.code == "FTC008"


def test_nesting_64_deep() -> None:
    """The deepest nesting that is read."""
    assert not read_json("[" * 64 + "]" * 64).findings
    assert [it.code for it in read_json("[" * 65 + "]" * 65).findings] == ["FTC008"]


@pytest.mark.parametrize("number", ["1" * 5000, "-" + "9" * 5000, "0." + "1" * 5000])
def test_number_of_5000_digits(number: str) -> None:
    """A very long number is a finding, with its position."""
    (finding,) = read_json(f'{{"seed": {number}}}').findings
    assert (finding.code, finding.position) == ("FTC015", Position(line=1, column=10))


def test_endless_values() -> None:
    """The 10,001st value is a finding, with its position."""
    assert not read_json("[" + "1," * 9_998 + "1]").findings
    (finding,) = read_json("[" + "1," * 9_999 + "1]").findings
    assert (finding.code, finding.position) == ("FTC019", Position(line=1, column=20_000))


def test_long_number_is_read() -> None:
    """A number of 1,000 characters is read exactly."""
    assert read_json("7" * 1000).data == int("7" * 1000)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("[1, 2,]", [1, 2]),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}),
        ("{'a': 'b'}", {"a": "b"}),
        ("[True, False, None, yes]", [True, False, None, True]),
        ("/* a */ [1] // b", [1]),
        ("{a: 1} # c", {"a": 1}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("[NaN, 1]", [None, 1]),
    ],
)
def test_goes_on_after_a_mistake(text: str, data: Any) -> None:
    """A mistake after which the text is still clear is reported, and reading continues."""
    reading = read_json(text)
    assert reading.findings
    assert not reading.stopped
    assert reading.data == data


def test_findings_are_bounded() -> None:
    """Reading stops after 50 mistakes."""
    reading = read_json("[" + "NaN," * 10_000 + "1]")
    assert len(reading.findings) == 50
    assert reading.stopped


def test_numbers_keep_their_type() -> None:
    """A whole number is an int, one with a point or exponent a float, as in the library."""
    data = read_json("[1, 1.0, 1e2, -0, -0.0]").data
    assert [type(number) for number in data] == [int, float, float, int, float]
    assert math.copysign(1, data[4]) == -1
