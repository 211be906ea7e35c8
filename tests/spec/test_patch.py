"""JSON patches on plain data."""

from typing import Any

import pytest

from ftc.spec.patch import PatchError, apply_patch


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/c", "value": 3}, {"a": [1, 2], "b": {"x": 1}, "c": 3}),
        ({"op": "add", "path": "/a/-", "value": 3}, {"a": [1, 2, 3], "b": {"x": 1}}),
        ({"op": "add", "path": "/a/0", "value": 0}, {"a": [0, 1, 2], "b": {"x": 1}}),
        ({"op": "replace", "path": "/a/1", "value": 9}, {"a": [1, 9], "b": {"x": 1}}),
        ({"op": "replace", "path": "", "value": 9}, 9),
        ({"op": "remove", "path": "/a/0"}, {"a": [2], "b": {"x": 1}}),
        ({"op": "move", "from": "/b/x", "path": "/y"}, {"a": [1, 2], "b": {}, "y": 1}),
        ({"op": "test", "path": "/b", "value": {"x": 1}}, {"a": [1, 2], "b": {"x": 1}}),
    ],
)
def test_each_operation(operation: dict[str, Any], expected: object) -> None:
    """Operations do what RFC 6902 says, on a copy."""
    data = {"a": [1, 2], "b": {"x": 1}}
    assert apply_patch(data, [operation]) == expected
    assert data == {"a": [1, 2], "b": {"x": 1}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/nowhere", "value": 1},
        {"op": "remove", "path": "/a/7"},
        {"op": "remove", "path": ""},
        {"op": "add", "path": "/a/9", "value": 1},
        {"op": "add", "path": "/s/x", "value": 1},
        {"op": "test", "path": "/s", "value": "other"},
        {"op": "copy", "path": "/s", "from": "/a"},
    ],
)
def test_what_does_not_apply_is_refused(operation: dict[str, Any]) -> None:
    """A patch that does not fit raises one error of one type."""
    with pytest.raises(PatchError):
        apply_patch({"a": [1], "s": "text"}, [operation])
