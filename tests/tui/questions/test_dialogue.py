"""The dialogue: from drafts and findings to the next question, without lookups."""

from itertools import permutations
from typing import Any

import pytest

from ftc.spec.findings.finding import Finding, Severity
from ftc.spec.schema import fields
from ftc.tui.questions.dialogue import Done, Question, asked_pointers, next_step
from ftc.tui.session.session import Session
from ftc.tui.state.draft import Draft, read_draft, written
from ftc.tui.state.situation import Situation
from ftc.tui.understanding.reading import Change
from tests.messages import say

ANSWERS = {
    "/data/source": "tickets.csv",
    "/model/id": "Qwen/Qwen3-4B",
    "/hardware/gpu": "RTX-4090",
    "/method/type": "lora",
    "/export/types": ["Q4_K_M"],
    "/name": "triage",
}
CALM = Situation()


def answered(*pointers: str) -> Draft:
    """Return a draft with the answers of these fields."""
    changes = [Change(pointer=each, value=ANSWERS[each], words="") for each in pointers]
    return Draft().changed(changes)


def finding(pointer: str, severity: Severity = "error", **more: Any) -> Finding:
    """Return a finding about a field."""
    return Finding(
        code="FTC000", name="some-rule", severity=severity, problem=say("is wrong"),
        remedy=say("put it right"),
        pointer=pointer, **more,
    )  # fmt: skip


def asked(draft: Draft, *findings: Finding) -> str:
    """Return the field that is asked for."""
    step = next_step(draft, Situation(findings=findings))
    assert isinstance(step, Question)
    return step.pointer


def test_an_ordinary_case_is_six_questions() -> None:
    """Each is a field of the schema, in the schema's order."""
    assert set(asked_pointers()) == set(ANSWERS)
    assert len(asked_pointers()) <= 6
    assert set(asked_pointers()) <= {field.pointer for field in fields()}


def test_questions_come_in_the_schemas_order() -> None:
    """One after the other, until none is left."""
    draft = Draft()
    for pointer in asked_pointers():
        assert asked(draft) == pointer
        draft = draft.changed((Change(pointer=pointer, value=ANSWERS[pointer], words=""),))
    assert next_step(draft, CALM) == Done()


@pytest.mark.parametrize("known", list(permutations(ANSWERS, 2)), ids=" ".join)
def test_what_is_known_is_not_asked(known: tuple[str, ...]) -> None:
    """After any two answers in any order, the first of the other fields is asked."""
    left = [pointer for pointer in asked_pointers() if pointer not in known]
    assert asked(answered(*known)) == left[0]


def test_no_gguf_is_an_answer() -> None:
    """An empty list is an answer: it is not asked again."""
    draft = answered(*ANSWERS).changed((Change(pointer="/export/types", value=[], words=""),))
    assert next_step(draft, CALM) == Done()


def test_a_spec_that_was_loaded_is_asked_what_it_lacks() -> None:
    """Short forms count as set."""
    draft = read_draft({"model": "a/b", "data": "c.csv", "hardware": "2x RTX 4090"})
    assert asked(draft) == "/method/type"


def test_an_error_about_what_was_said_comes_first() -> None:
    """Errors come before questions, with their finding."""
    wrong = finding("/data/source")
    step = next_step(answered("/data/source"), Situation(findings=(wrong,)))
    assert isinstance(step, Question)
    assert (step.pointer, step.trouble, step.options) == ("/data/source", wrong, ())


def test_of_several_errors_the_one_about_what_was_said_is_asked() -> None:
    """An error in a section that is not set is not asked about."""
    draft = answered("/model/id")
    assert asked(draft, finding("/training/epochs"), finding("/model/id")) == "/model/id"


@pytest.mark.parametrize("severity", ["warning", "info"])
def test_warnings_hold_up_nothing(severity: Severity) -> None:
    """Warnings are shown beside the conversation."""
    draft = answered(*ANSWERS)
    assert next_step(draft, Situation(findings=(finding("/data", severity),))) == Done()


@pytest.mark.parametrize(
    ("pointer", "question"),
    [
        ("/data", "/data/source"),
        ("/hardware", "/hardware/gpu"),
        ("/export/types/0", "/export/types"),
        ("/training/epochs", "/training/epochs"),
        ("/data/nothing/here", "/data/source"),
        ("", "/model/id"),
    ],
)
def test_a_finding_asks_for_a_field(pointer: str, question: str) -> None:
    """Its own field, or the nearest enclosing one; a section asks for its short form's field."""
    assert asked(answered(*ANSWERS), finding(pointer)) == question


def test_a_repair_is_offered_as_an_answer() -> None:
    """Choosing it makes only the change of the fix."""
    fix = ({"op": "replace", "path": "/training/epochs", "value": 2},)
    draft = answered(*ANSWERS)
    step = next_step(draft, Situation(findings=(finding("/training/epochs", fix=fix),)))
    assert isinstance(step, Question)
    (option,) = step.options
    assert (option.key, option.label) == ("option.repair", "training.epochs = 2")
    then = draft.changed(option.changes)
    assert written(then) == {**written(draft), "training": {"epochs": 2}}


def test_a_repair_takes_a_field_out() -> None:
    """Removing a field leaves it to the plan."""
    draft = answered(*ANSWERS).changed((Change(pointer="/method/rank", value=8, words=""),))
    fix = ({"op": "remove", "path": "/method/rank"},)
    step = next_step(draft, Situation(findings=(finding("/method/rank", fix=fix),)))
    assert isinstance(step, Question)
    assert written(draft.changed(step.options[0].changes)) == written(answered(*ANSWERS))


def test_a_repair_of_a_short_form_is_spelled_out() -> None:
    """A fix uses short forms; the draft keeps the long form."""
    fix = ({"op": "replace", "path": "/hardware", "value": "2x RTX-3090"},)
    step = next_step(answered(*ANSWERS), Situation(findings=(finding("/hardware", fix=fix),)))
    assert isinstance(step, Question)
    (change,) = step.options[0].changes
    assert change.value == {"gpu": "RTX-3090", "count": 2}


def test_a_repair_that_moves_things_is_not_offered() -> None:
    """Only adding, replacing or removing is a change of a draft."""
    fix = ({"op": "move", "path": "/method/rank", "from": "/method/r"},)
    step = next_step(answered(*ANSWERS), Situation(findings=(finding("/method/rank", fix=fix),)))
    assert isinstance(step, Question)
    assert step.options == ()


def test_the_next_step_is_a_value() -> None:
    """The same draft and situation give the same step: there is no state."""
    draft, situation = answered("/model/id"), Situation(findings=(finding("/model/id"),))
    assert next_step(draft, situation) == next_step(draft, situation)


def test_a_model_that_is_too_large_asks_for_the_method(session: Session) -> None:
    """The method is asked before the hardware: one may fit, and ftc suggests it."""
    session.reply("mistral 7b on my 3060, tickets.csv")
    step = session.step
    assert isinstance(step, Question)
    assert step.trouble is not None
    assert (step.trouble.code, step.pointer) == ("FTC420", "/method/type")
    session.reply("you choose")
    assert session.draft.get("/method/type") == "qlora"
    assert session.situation.plan is not None
    assert session.situation.plan.memory.fits
