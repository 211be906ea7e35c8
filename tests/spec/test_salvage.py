"""What is left of a spec whose lists have incomplete items."""

from pathlib import Path
from typing import Any

import pytest

from ftc.spec.salvage import is_left_out, salvage
from ftc.spec.text.document import Document
from ftc.spec.validate import judge

WHOLE = {"label": "spam", "weight": 2.0}
BASE: dict[str, Any] = {
    "name": "triage",
    "model": {"id": "./model"},
    "data": {"source": "tickets.csv"},
    "hardware": {"gpu": "cpu"},
}


@pytest.mark.parametrize(
    "written",
    [
        [{}],
        [{}, WHOLE],
        [WHOLE, {}],
        [WHOLE, {"label": "odd"}, {}],
        [{}, {"weight": "two"}, WHOLE],
        [{"weight": "two"}],
    ],
)
def test_a_list_with_an_incomplete_item_is_left_out(written: list[dict[str, Any]]) -> None:
    """An item that lacks one or two keys leaves a spec that says nothing of its list."""
    data = {**BASE, "objective": {"type": "classification", "class_weights": written}}
    document = Document(name="spec.json", folder=Path(), text="", data=data, positions={})
    findings = judge(data)
    assert findings
    salvaged = salvage(document, findings)
    assert salvaged is not None
    assert salvaged.spec.objective.type == "classification"
    with pytest.raises(AttributeError) as raised:
        _ = salvaged.spec.objective.class_weights
    assert is_left_out(raised.value)
