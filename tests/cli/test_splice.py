"""JSON patches on text: only the affected characters change."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.spec.patch import PatchError, apply_patch
from ftc.spec.pointer import join
from ftc.splice import find_spans, splice

TEXT = """{
  "name":  "a",

  "data": {"source": "d.csv"}, "export": [ "Q8_0" ]
}
"""


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (
            {"op": "replace", "path": "/name", "value": "b"},
            TEXT.replace('"a"', '"b"'),
        ),
        (
            {"op": "move", "from": "/data/source", "path": "/data/file"},
            TEXT.replace("source", "file"),
        ),
        (
            {"op": "move", "from": "/name", "path": "/data/name"},
            '{\n  "data": {"source": "d.csv", "name": "a"}, "export": [ "Q8_0" ]\n}\n',
        ),
        (
            {"op": "remove", "path": "/name"},
            '{\n  "data": {"source": "d.csv"}, "export": [ "Q8_0" ]\n}\n',
        ),
        (
            {"op": "remove", "path": "/export"},
            TEXT.replace(', "export": [ "Q8_0" ]', ""),
        ),
        (
            {"op": "remove", "path": "/export/0"},
            TEXT.replace('[ "Q8_0" ]', "[]"),
        ),
        (
            {"op": "add", "path": "/method", "value": "lora"},
            TEXT.replace(" ]\n", ' ],\n  "method": "lora"\n'),
        ),
        (
            {"op": "add", "path": "/data/form", "value": "chat"},
            TEXT.replace('"d.csv"', '"d.csv", "form": "chat"'),
        ),
    ],
)
def test_the_layout_stays(operation: dict[str, Any], expected: str) -> None:
    """Spaces, blank lines and order are the user's."""
    assert splice(TEXT, operation) == expected


def test_a_section_without_members_is_one_line() -> None:
    """Empty braces stay on one line."""
    text = '{\n  "training": {\n    "warmup_steps": 10\n  }\n}\n'
    told = splice(text, {"op": "remove", "path": "/training/warmup_steps"})
    assert told == '{\n  "training": {}\n}\n'


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/nowhere", "value": 1},
        {"op": "move", "from": "/name", "path": "/export"},
        {"op": "move", "from": "/export/0", "path": "/type"},
        {"op": "move", "from": "/name", "path": "/export/0/name"},
        {"op": "add", "path": "/export/-", "value": "F16"},
        {"op": "copy", "from": "/name", "path": "/other"},
        {"op": "test", "path": "/name", "value": "b"},
    ],
)
def test_what_is_no_splice_is_refused(operation: dict[str, Any]) -> None:
    """An edit that would touch more than its own place is not made on text."""
    with pytest.raises(PatchError):
        splice(TEXT, operation)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(data=VALUES, value=VALUES, indent=st.sampled_from([None, 1, 4]), chosen=st.data())
def test_text_and_data_agree(
    data: object, value: object, indent: int | None, chosen: st.DataObject
) -> None:
    """A splice of the text parses to the patch of the data, for any JSON and any layout."""
    text = json.dumps(data, indent=indent, ensure_ascii=chosen.draw(st.booleans()))
    pointer = chosen.draw(st.sampled_from(list(find_spans(text))))
    key = chosen.draw(st.text(max_size=4))
    operations: list[dict[str, Any]] = [
        {"op": "replace", "path": pointer, "value": value},
        {"op": "remove", "path": pointer},
        {"op": "add", "path": pointer + join([key]), "value": value},
    ]
    operation = chosen.draw(st.sampled_from(operations))
    try:
        spliced = splice(text, operation)
    except PatchError:
        return
    if pointer or operation["op"] != "remove":
        assert json.loads(spliced) == apply_patch(data, [operation])
