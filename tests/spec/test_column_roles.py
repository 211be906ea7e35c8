"""Columns of roles that no form of rows has together (FTC053)."""

import pytest

from ftc.spec.patch import apply_patch
from ftc.spec.validate import judge


@pytest.mark.parametrize(
    ("roles", "form", "objective", "meant"),
    [
        (("text", "label"), "auto", "sft", ("prompt", "completion")),
        (("text", "label"), "auto", "classification", ("prompt", "completion")),
        (("text", "label"), "instruction", "sft", ("instruction", "output")),
        (("instruction", "completion"), "auto", "sft", ("prompt", "completion")),
        (("prompt", "output"), "auto", "sft", ("prompt", "completion")),
        (("text", "label"), "auto", "cpt", None),
        (("text", "label"), "feedback", "kto", None),
        (("prompt", "messages"), "auto", "sft", None),
    ],
)
def test_roles_that_no_form_has_together(
    roles: tuple[str, str], form: str, objective: str, meant: tuple[str, str] | None
) -> None:
    """They are renamed to those of the nearest form, if it has such roles."""
    spec: dict[str, object] = {
        "name": "x",
        "model": "a/b",
        "data": {"source": "t.csv", "form": form, "columns": {role: role for role in roles}},
        "objective": objective,
    }
    found = [each for each in judge(spec) if each.code == "FTC053"]
    assert found
    if meant is None:
        assert not any(each.fix for each in found)
        return
    for finding in found:
        spec = apply_patch(spec, finding.fix)
    assert judge(spec) == []
    columns = spec["data"]["columns"]  # type: ignore[index]
    assert columns == dict(zip(meant, roles, strict=True))
