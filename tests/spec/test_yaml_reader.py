"""The YAML reader follows YAML 1.2's core schema, has positions, and never crashes."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.spec.findings.finding import Position
from ftc.spec.text.yaml_reader import read_yaml, repair_yaml

WORDS = ["a", ": ", "- ", "? ", "\n", "  ", "[", "]", "{", "}", "&x ", "*x", "!t ", "|", ">", "'"]
MARKS = [
    "%YAML 1.1\n",
    "---",
    "...",
    '"',
    "\\U00110000",
    "#",
    "\t",
    ",",
    "<<",
    "0x1",
    "%",
    "@",
    "`",
]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2e-4", 2e-4),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("12", 12),
        ("-3", -3),
        ("+3", 3),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("True", True),
        ("FALSE", False),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("'7'", "7"),
        ('"true"', "true"),
        ("2026-01-01", "2026-01-01"),
        ("=", "="),
        ("0b1", "0b1"),
        ("e3", "e3"),
        ("v1.5", "v1.5"),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    """Plain scalars are typed by the core schema; quoted ones are text."""
    reading = read_yaml(f"a: {text}\n")
    assert not reading.findings
    assert reading.data == {"a": value}
    assert type(reading.data["a"]) is type(value)


def test_keys_are_text() -> None:
    """A key is read as written."""
    assert read_yaml("on: 1\n2: 3\nnull: 4\n").data == {"on": 1, "2": 3, "null": 4}


@pytest.mark.parametrize("text", ["<<: {a: 1, b: 2}\na: 3\n", "a: 3\n<<: {a: 1, b: 2}\n"])
def test_a_merge_key_is_reported(text: str) -> None:
    """YAML 1.2 has none: what it merges is read, so that the rest is checked."""
    reading = read_yaml(text)
    assert [each.message for each in reading.findings] == [
        "`<<` merges another mapping into this one"
    ]
    assert reading.data == {"a": 3, "b": 2}


def test_a_quoted_merge_key_is_a_key() -> None:
    """Quotation marks make it a text like any other."""
    assert read_yaml('"<<": {a: 1}\n').data == {"<<": {"a": 1}}


def test_places() -> None:
    """Keys and values have positions in every notation."""
    positions = read_yaml("data:\n  source: a.csv\nexport:\n  - F16\n  - {a: b}\n").positions
    assert positions["/data/source"].key == Position(line=2, column=3)
    assert positions["/data/source"].value == Position(line=2, column=11)
    assert positions["/export/1/a"].value == Position(line=5, column=9)


def test_separators_end_no_line() -> None:
    """Lines are counted by line feeds, as in editors."""
    assert read_yaml('a: "x\u2028y\x85z"\nb: 1\n').positions["/b"].value.line == 2


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "? "])
def test_nesting_10000_deep(opening: str) -> None:
    """Deep nesting is a finding, never a RecursionError."""
    codes = [finding.code for finding in read_yaml(opening * 10_000).findings]
    assert len(codes) == 1
    assert codes[0] in {"FTC008", "FTC024"}


def test_nesting_64_deep() -> None:
    """The deepest nesting that is read."""
    assert not read_yaml("[" * 64 + "]" * 64).findings
    assert [it.code for it in read_yaml("[" * 65 + "]" * 65).findings] == ["FTC008"]


def test_endless_values() -> None:
    """The 10,001st value is a finding, with its position."""
    assert not read_yaml("- a\n" * 9_999).findings
    (finding,) = read_yaml("- a\n" * 10_000).findings
    assert (finding.code, finding.position) == ("FTC019", Position(line=10_000, column=3))


def test_billion_laughs() -> None:
    """Aliases are rejected, and the reading ends where their values are too many."""
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    reading = read_yaml("\n".join(lines))
    assert {finding.code for finding in reading.findings} == {"FTC019", "FTC021"}
    assert len(json.dumps(reading.data)) < 10_000


@pytest.mark.parametrize("number", ["1" * 5000, "0x" + "f" * 5000, "1." + "0" * 5000])
def test_number_of_5000_digits(number: str) -> None:
    """A very long number is a finding."""
    assert [it.code for it in read_yaml(f"seed: {number}").findings] == ["FTC015"]


def test_lone_surrogate() -> None:
    """A lone surrogate is a finding."""
    assert [it.code for it in read_yaml('a: "\\ud83d"').findings] == ["FTC016"]


@given(st.lists(st.sampled_from([*WORDS, *MARKS]), max_size=25).map("".join) | st.text(max_size=30))
def test_any_text(text: str) -> None:
    """Any text gives JSON-compatible data, or findings with positions."""
    reading = read_yaml(text)
    json.dumps(reading.data, allow_nan=False)
    assert all(finding.position is not None for finding in reading.findings)
    assert reading.findings or "" in reading.positions


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.text(st.characters(min_codepoint=97, max_codepoint=122), max_size=5),
                inner,
                max_size=3,
            )
        ),
        max_leaves=10,
    )
)
def test_reads_json_as_json(value: Any) -> None:
    """One line of JSON is YAML with the same value."""
    reading = read_yaml(json.dumps(value))
    assert not reading.findings
    assert reading.data == value


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("name: x\nmodel: 'a/b\ndata: d\n", 2, "the quotation mark is never closed"),
        ('name: x\nmodel: "a/b\n', 2, "the quotation mark is never closed"),
        ("name: x\nmodel:a/b\ndata: d\n", 2, "there is no space after `model:`"),
    ],
)
def test_a_mistake_is_where_it_begins(text: str, line: int, message: str) -> None:
    """PyYAML reports an open quote at the next line or the end of the text."""
    (finding,) = read_yaml(text).findings
    assert finding.position is not None
    assert (finding.code, finding.position.line, finding.message) == ("FTC020", line, message)


@pytest.mark.parametrize(
    ("text", "repaired", "safety"),
    [
        ("a:\n\tb: 1\n\tc:\n\t\td: 2\n", "a:\n  b: 1\n  c:\n    d: 2\n", "safe"),
        ("a:b\nc: 1\nd:2\n", "a: b\nc: 1\nd: 2\n", "safe"),
        ("a: You are: it  # b\n", 'a: "You are: it"  # b\n', "safe"),
        ("a: *.csv\nb: @me\n", 'a: "*.csv"\nb: "@me"\n', "safe"),
        ('a: "b", # c\nd: 1\n', 'a: "b" # c\nd: 1\n', "safe"),
        ("{a: b, # c\n c: d # e\n f: 1}\n", "{a: b, # c\n c: d # e\n , f: 1}\n", "safe"),
        ('a: "b  # c\nd: 1\n', 'a: "b"  # c\nd: 1\n', "unsafe"),
        ("a: 1\n b: 2\nc: 3\n", "a: 1\nb: 2\nc: 3\n", "unsafe"),
    ],
)
def test_a_mistake_of_grammar_is_mended(text: str, repaired: str, safety: str) -> None:
    """The first finding has the fix. The rest is checked and keeps its layout."""
    reading = read_yaml(text)
    assert repair_yaml(text) == repaired
    assert not reading.stopped
    assert read_yaml(repaired).data == reading.data
    assert reading.findings[0].fix == ({"op": "replace", "path": "", "value": reading.data},)
    assert reading.findings[0].fix_safety == safety


@pytest.mark.parametrize(
    "text", ["a: [1, 2\nb: 3\n", "a: *b\n", "a: !env HOME\n", "just text: a: b: c\n  d"]
)
def test_what_is_not_certain_is_not_mended(text: str) -> None:
    """An alias of nothing, a tag of a program and a list without an end have no fix."""
    assert all(not finding.fix for finding in read_yaml(text).findings)


@pytest.mark.parametrize(
    ("text", "data", "safety"),
    [
        ("base: &b {r: 8}\nmethod: *b\n", {"method": {"r": 8}}, "safe"),
        ("base: &b {r: 8}\nmethod: {<<: *b, r: 4, a: 1}\n", {"method": {"r": 4, "a": 1}}, "safe"),
        (
            "x: [&a {r: 1}, &b {r: 2, s: 3}]\nmethod: {<<: [*a, *b]}\n",
            {"method": {"r": 1, "s": 3}},
            "safe",
        ),
        ("name: &n t\ntracking: {run: *n}\n", {"name": "t", "tracking": {"run": "t"}}, "safe"),
        ("unused: &u 3\nname: &n t\ndata: *n\n", {"unused": 3, "name": "t", "data": "t"}, "safe"),
        (
            "name: !!str 7\nseed: !!int '7'\nx: !!seq [1]\n",
            {"name": "7", "seed": 7, "x": [1]},
            "safe",
        ),
        ("seed: 7\nseed: 7\n", {"seed": 7}, "safe"),
        ("seed: 7\nseed: 8\n", {"seed": 8}, "unsafe"),
    ],
)
def test_what_yaml_has_and_json_lacks_is_written_out(
    text: str, data: Mapping[str, Any], safety: str
) -> None:
    """One fix writes the values of aliases, without tags and keys that occur twice."""
    found = read_yaml(text).findings
    fixes = [each.fix for each in found if each.fix]
    assert fixes == [({"op": "replace", "path": "", "value": data},)]
    assert found[0].fix_safety == safety


def test_an_empty_document_at_the_end_is_none() -> None:
    """A last line of `---` begins nothing, as does one of `...`."""
    assert not read_yaml("name: t\n---\n").findings
    assert not read_yaml("name: t\n---\n---\n...\n").findings
    assert [each.code for each in read_yaml("name: t\n---\nname: u\n").findings] == ["FTC023"]
