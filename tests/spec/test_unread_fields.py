"""Fields that the rest of a spec does not read: following the advice makes them read."""

import copy
import json
from typing import Any

import pytest

from ftc.spec.consistency import find_conflicts
from ftc.spec.findings.finding import Finding
from ftc.spec.patch import apply_patch
from ftc.spec.pointer import split
from ftc.spec.schema import Field, fields, find_field
from ftc.spec.values.expectation import words_of


def _apply(data: dict[str, Any], pointer: str, value: Any) -> dict[str, Any]:
    """Return a spec with one value put at a pointer of the long form."""
    changed = copy.deepcopy(data)
    place = changed
    *sections, name = split(pointer)
    for section in sections:
        place = place.setdefault(section, {})
    place[name] = value
    return changed


def _find_unread(data: dict[str, Any]) -> list[Finding]:
    return [finding for finding in find_conflicts(data) if finding.code == "FTC050"]


@pytest.mark.parametrize("objective", words_of(find_field("/objective/type").schema))
@pytest.mark.parametrize(
    "field",
    [field for field in fields() if "x-when" in field.schema],
    ids=lambda field: field.name,
)
def test_the_advice_on_an_unread_field_ends(field: Field, objective: str) -> None:
    """Each value that is advised is read itself, and at last the field is read too."""
    examples = (each for each in field.schema["examples"] if each not in (None, "auto", True))
    example = next(examples, True)
    data = _apply({"objective": {"type": objective}}, field.pointer, example)
    for _ in range(4):
        found = _find_unread(data)
        if not found:
            return
        (finding, *_) = found
        assert finding.pointer == field.pointer, finding.message
        values = finding.problem.values
        place = "/" + str(values["other"]).replace(".", "/")
        advised = finding.remedy.values["values"]
        assert isinstance(advised, list)
        word = str(advised[0])
        data = _apply(data, place, json.loads(word.lower()) if word in ("True", "False") else word)
    pytest.fail(f"{field.name} is not read: {found[0].message}")


@pytest.mark.parametrize(
    ("method", "field", "fixed", "safety"),
    [
        (
            {"type": "lora", "quantization": "nf4"},
            "quantization",
            {"type": "qlora", "quantization": "nf4"},
            "safe",
        ),
        (
            {"quantization": "int8"},
            "quantization",
            {"type": "qlora", "quantization": "int8"},
            "safe",
        ),
        (
            {"type": "lora", "double_quantization": True},
            "double_quantization",
            {"type": "qlora", "double_quantization": True},
            "unsafe",
        ),
        ({"type": "full", "quantization": "nf4"}, "quantization", {"type": "full"}, "unsafe"),
        (
            {"type": "qlora", "quantization": "int8", "double_quantization": True},
            "double_quantization",
            {"type": "qlora", "quantization": "int8"},
            "safe",
        ),
        ({"type": "full", "rank": 8}, "rank", {"type": "full"}, "safe"),
    ],
)
def test_what_only_a_more_exact_word_reads_is_not_lost(
    method: dict[str, Any], field: str, fixed: dict[str, Any], safety: str
) -> None:
    """A base in 4 bits asks for `qlora`; where it may not, leaving it out is no safe fix."""
    data = {"method": method}
    (finding,) = _find_unread(data)
    assert finding.pointer == f"/method/{field}"
    assert "`method." in finding.help
    assert f"remove `method.{field}`" in finding.help
    assert apply_patch(data, finding.fix)["method"] == fixed
    assert finding.fix_safety == safety


def test_a_field_with_one_cause_is_reported_once() -> None:
    """Two conditions that end in the same field are one finding."""
    method = {"type": "lora", "quantization": "int8", "double_quantization": True}
    found = _find_unread({"method": method})
    assert [each.pointer for each in found] == [
        "/method/quantization",
        "/method/double_quantization",
    ]
