"""Fixes on the document as it is written."""

from typing import Any

import pytest

from ftc.fix_patches import write_fixes, write_patch
from ftc.spec.findings.finding import Finding
from ftc.spec.patch import apply_patch
from tests.messages import say

DATA = {
    "model": "m",
    "data": "d.csv",
    "hardware": "2x A100-80GB",
    "export": ["Q8_0", "F16"],
    "training": {"epochs": 2},
}


@pytest.mark.parametrize(
    ("path", "value", "section", "expected"),
    [
        ("/model/attention", "sdpa", "model", {"id": "m", "attention": "sdpa"}),
        ("/model/id", "n", "model", "n"),
        ("/hardware/count", 4, "hardware", {"gpu": "A100-80GB", "count": 4}),
        ("/export/types", [], "export", []),
        ("/training/epochs", 1, "training", {"epochs": 1}),
        ("/training/seed", 1, "training", {"epochs": 2, "seed": 1}),
        (
            "/training/evaluation/metric",
            "none",
            "training",
            {"epochs": 2, "evaluation": {"metric": "none"}},
        ),
        ("/data/splits/test", 0.2, "data", {"source": "d.csv", "splits": {"test": 0.2}}),
        ("/distribution/strategy", "ddp", "distribution", {"strategy": "ddp"}),
    ],
)
def test_a_field_is_set_where_it_is_written(
    path: str, value: object, section: str, expected: object
) -> None:
    """Short forms grow only when they must; sections that are missing are added."""
    patch = write_patch([{"op": "add", "path": path, "value": value}], DATA)
    assert apply_patch(DATA, patch) == DATA | {section: expected}


def test_two_operations_meet_in_one_section() -> None:
    """The second sees what the first one made."""
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/method/type", "value": "lora"},
        {"op": "add", "path": "/method/rank", "value": 8},
    ]
    patch = write_patch(operations, DATA)
    assert apply_patch(DATA, patch)["method"] == {"type": "lora", "rank": 8}


def test_an_item_of_a_short_list_is_removed() -> None:
    """The long form's list is the section itself."""
    patch = write_patch([{"op": "remove", "path": "/export/types/0"}], DATA)
    assert apply_patch(DATA, patch)["export"] == ["F16"]


def test_what_does_not_apply_is_left_out() -> None:
    """A finding keeps its words and loses a fix that nobody could apply."""
    finding = Finding(
        code="FTC033",
        name="n",
        severity="error",
        problem=say("m"),
        remedy=say("h"),
        fix=({"op": "remove", "path": "/training/nothing"},),
    )
    assert write_patch(finding.fix, DATA) == ()
    assert write_fixes((finding,), None) == (finding,)
