"""Overrides: single values that are replaced."""

from pathlib import Path
from typing import Any

import pytest

from ftc.spec.override import apply_overrides
from ftc.spec.text.document import Document


def overridden(data: Any, **overrides: str) -> Any:
    """Return the data with overrides; a double underscore stands for a point."""
    document = Document(name="-", folder=Path(), text="", data=data, positions={})
    paths = {path.replace("__", "."): text for path, text in overrides.items()}
    return apply_overrides(document, paths).data


@pytest.mark.parametrize(
    ("data", "overrides", "expected"),
    [
        ({}, {"hardware": "1x RTX-4090"}, {"hardware": "1x RTX-4090"}),
        ({}, {"training__epochs": "3"}, {"training": {"epochs": 3}}),
        ({}, {"training__learning_rate": "2e-4"}, {"training": {"learning_rate": 2e-4}}),
        (
            {"training": {"seed": 1}},
            {"training__epochs": "3"},
            {"training": {"seed": 1, "epochs": 3}},
        ),
        ({"method": "lora"}, {"method__rank": "8"}, {"method": {"type": "lora", "rank": 8}}),
        (
            {"hardware": "2x A100-80GB"},
            {"hardware__count": "4"},
            {"hardware": {"gpu": "A100-80GB", "count": 4}},
        ),
        ({"training": 5}, {"training__epochs": "3"}, {"training": {"epochs": 3}}),
        ([1], {"training__epochs": "3"}, [1]),
    ],
)
def test_override(data: Any, overrides: dict[str, str], expected: Any) -> None:
    """A short form becomes an object when a key inside it is set; the rest stays."""
    before = repr(data)
    assert overridden(data, **overrides) == expected
    assert repr(data) == before
