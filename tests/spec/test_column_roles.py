"""Roles of columns: other names for them, and roles that no form of rows has together (FTC053)."""

from typing import Any

import pytest

from ftc.spec.columns.usual_names import NEEDED, OF_VECTORS, USUAL, find_roles
from ftc.spec.patch import apply_patch
from ftc.spec.sections import FORMS
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


@pytest.mark.parametrize(
    ("objective", "written", "meant"),
    [
        ("embed", "query document", "prompt completion"),
        ("rerank", "query passage score", "prompt completion score"),
        ("embed", "anchor positive negative", "prompt chosen rejected"),
        ("embed", "sentence1 sentence2 similarity", "prompt completion score"),
        ("sft", "question answer", "prompt completion"),
        ("sft", "Question Answer", "prompt completion"),
        ("sft", "pregunta respuesta", "prompt completion"),
        ("sft", "prompt response", "prompt completion"),
        ("sft", "instruction context response", "instruction input output"),
        ("sft", "conversations functions", "messages tools"),
        ("sft", "image question answer", "images prompt completion"),
        ("cpt", "content", "text"),
        ("dpo", "question chosen rejected", "prompt chosen rejected"),
        ("reward", "query preferred dispreferred", "prompt chosen rejected"),
        ("kto", "question answer thumbs_up", "prompt completion label"),
        ("classification", "sentence category", "prompt completion"),
        ("grpo", "problem solution", "prompt completion"),
        ("grpo", "query", "prompt"),
    ],
)
@pytest.mark.parametrize("place", ["columns", "source", "data", "list"])
def test_the_usual_name_of_a_column_is_its_role(
    objective: str, written: str, meant: str, place: str
) -> None:
    """Such a key is renamed, in `data.columns`, in those of a source and in `data`."""
    names, roles = written.split(), meant.split()
    columns = {name: f"c{number}" for number, name in enumerate(names)}
    wanted = dict(zip(roles, columns.values(), strict=True))
    data: dict[str, Any] = {"source": "t.csv", "columns": columns}
    fixed: dict[str, Any] = {"source": "t.csv", "columns": wanted}
    if place == "source":
        data, fixed = {"sources": [data]}, {"sources": [fixed]}
    if place == "data":
        if {*names} & {"prompt", "instruction", "chosen", "rejected", "image"}:
            return  # which have a meaning of their own
        data = {"source": "t.csv", **columns}
    if place == "list":
        if objective != "sft" or {*names} <= {*roles}:
            return
        data["columns"] = names
        fixed["columns"] = dict(zip(roles, names, strict=True))
    spec: dict[str, Any] = {"name": "x", "model": "a/b", "objective": objective, "data": data}
    for _ in names:
        found = [each for each in judge(spec) if each.fix]
        if not found:
            break
        assert found[0].fix_safety == "safe"
        spec = apply_patch(spec, found[0].fix)
    assert spec["data"] == fixed


def test_a_name_among_others_is_a_guess() -> None:
    """Beside keys that are no names of columns, nobody knows the form of the rows."""
    columns = {"query": "q", "whatever": "w"}
    spec = {"name": "x", "model": "a/b", "data": {"source": "t.csv", "columns": columns}}
    first, second = judge(spec)
    assert [step["path"] for step in first.fix] == ["/data/columns/prompt"]
    assert (first.fix_safety, second.fix) == ("unsafe", ())


@pytest.mark.parametrize("objective", FORMS)
def test_every_objective_knows_the_usual_names_of_its_roles(objective: Any) -> None:
    """With a usual name for each role that its rows need, each gets its role."""
    for form in FORMS[objective]:
        kind, usual = next(each for each in (*USUAL, *OF_VECTORS) if each[0] == form)
        names = {role: usual[role][-1] for role in NEEDED[kind] if role in usual}
        found = find_roles(names.values(), form=form, objective=objective)
        assert found.keys() == {*names.values()}
