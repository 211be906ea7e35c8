"""Undoing a goal, going back to a suggestion, denials, and questions about a single value."""

from pathlib import Path

import pytest

from ftc.tui.languages.voice import Voice
from ftc.tui.questions.dialogue import Question
from ftc.tui.session.session import Session
from ftc.tui.state.situation import Observer
from ftc.tui.understanding.reader import read

pytestmark = pytest.mark.prove

CLASSIFIER = {"objective": {"type": "classification"}, "data": {"source": "tickets.csv"}}


def told(session: Session, text: str) -> str:
    """Return the whole reply to a message."""
    return "\n".join(line.text for line in session.reply(text))


@pytest.mark.parametrize("text", ["sort tickets.csv into labels", "1", "talk like a pirate"])
def test_undo_takes_back_the_goal(session: Session, text: str) -> None:
    """The question about the goal is the next one, and `redo` states it again."""
    session.reply(text)
    goal = session.goal
    assert goal is not None
    assert "goal: not stated" in told(session, "undo")
    assert session.goal is None
    assert not session.draft.data
    assert isinstance(session.step, Question)
    assert session.step.pointer == "/objective/type"
    session.reply("redo")
    assert session.goal == goal


@pytest.mark.parametrize(
    "text",
    [
        "no lets go back to what you suggested",
        "tornem al que havies suggerit",
        "volvamos a lo que habías sugerido",
    ],
)
def test_back_to_the_suggestion(whole: Session, text: str) -> None:
    """The value that replaced it is undone."""
    whole.reply("rank 64")
    whole.reply(text)
    assert whole.draft.get("/method/rank") is None


@pytest.mark.parametrize(
    "text",
    [
        "it is no classifier with a head, it should answer the label as text",
        "no és un classificador amb cap, ha de respondre l'etiqueta com a text",
        "no es un clasificador con cabeza, debe responder la etiqueta como texto",
    ],
)
def test_a_denial_and_the_value_in_its_place(text: str) -> None:
    """The value is set; "nothing" is not offered beside it."""
    reading = read(text, CLASSIFIER)
    assert [each.value for each in reading.changes] == ["sft"]
    assert not reading.choices


def test_a_choice_stays_open_behind_a_question(whole: Session) -> None:
    """It is asked again after the answer."""
    whole.reply("maybe rank 32")
    asked = whole.step
    whole.reply("how long will it take?")
    assert whole.step == asked
    assert "method.dropout" in told(whole, "what is dropout?")
    assert whole.step == asked


def test_two_questions_about_a_value(whole: Session) -> None:
    """A number is not the name of another decision that has it."""
    reply = told(whole, "what does lora rank mean and is 32 to much?")
    assert "The rank is the inner dimension" in reply
    assert "The plan uses lora_rank = " in reply
    assert "method.rank = 32" in reply
    assert "answer_tokens" not in reply
    assert "eval_steps" not in reply


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("why is the batch 8?", "global_batch"),
        ("why is the rank 16?", "lora_rank"),
        ("per què el rang és 16?", "lora_rank"),
    ],
)
def test_why_a_value(whole: Session, text: str, name: str) -> None:
    """The reason is that of the named field."""
    assert f"The plan uses {name} = " in told(whole, text)


@pytest.mark.parametrize("text", ["is that lr too low?", "is 5e-7 too low?"])
def test_an_own_value_is_compared_with_the_planned_one(whole: Session, text: str) -> None:
    """With the ratio, if they are far apart."""
    whole.reply("learning rate 5e-7")
    reply = told(whole, text)
    assert "Without your value, the plan would use learning_rate = " in reply
    assert "times lower." in reply


@pytest.mark.parametrize(
    "text",
    [
        "i changed my mind about the name",
        "he canviat d'idea sobre el nom",
        "he cambiado de idea sobre el nombre",
    ],
)
def test_a_change_of_mind_asks_for_the_field(whole: Session, text: str) -> None:
    """The words before the field's name say nothing about it."""
    whole.reply(text)
    assert isinstance(whole.step, Question)
    assert whole.step.pointer == "/name"


@pytest.mark.parametrize(
    ("text", "told_value"),
    [("use qlora instead?", "method.type = qlora"), ("use kto instead?", "objective.type = kto")],
)
def test_a_proposal_with_a_question_mark_is_judged(
    whole: Session, text: str, told_value: str
) -> None:
    """Nothing changes before a yes."""
    before = whole.draft
    assert told_value in told(whole, text)
    assert whole.draft == before


def test_labels_with_too_few_rows_have_a_way_out(folder: Path) -> None:
    """The file is the place to merge them; the fix learns them as text."""
    rare = folder / "tickets.csv"
    rare.write_text(rare.read_text() + "what is my password,passwords\n")
    session = Session(observer=Observer(folder=folder), voice=Voice(language="en"))
    session.start()
    session.reply("tickets.csv, qwen3 0.6b, 4090, lora, no gguf, name foo, a classification head")
    assert [each.code for each in session.situation.findings if each.severity == "error"] == [
        "FTC281"
    ]
    reply = told(session, "ok merge the rare labels")
    assert "does not merge or drop any" in reply
    assert "passwords (1)" in reply
    assert [each.value for each in session.proposal] == ["sft"]
    session.reply("no")
    rare.write_text(rare.read_text().replace("passwords\n", "billing\n"))
    session.reply("retry")
    assert not [each for each in session.situation.findings if each.severity == "error"]


def test_the_fix_learns_labels_as_text(folder: Path) -> None:
    """After a yes, because it changes the training."""
    rare = folder / "tickets.csv"
    rare.write_text(rare.read_text() + "what is my password,passwords\n")
    session = Session(observer=Observer(folder=folder), voice=Voice(language="en"))
    session.start()
    session.reply("tickets.csv, qwen3 0.6b, 4090, lora, no gguf, name foo, a classification head")
    session.reply("fix it")
    assert session.draft.get("/objective/type") == "classification"
    session.reply("yes")
    assert session.draft.get("/objective/type") == "sft"
    assert not [each for each in session.situation.findings if each.severity == "error"]
