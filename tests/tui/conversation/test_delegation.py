"""Questions that ftc answers itself: one on request, all the rest, or one with a single answer."""

import json

import pytest

from ftc.tui.questions.dialogue import Done, Question
from ftc.tui.session.session import Session
from ftc.tui.understanding.requests import read_request
from ftc.tui.understanding.text.message import Message

ONE = (
    *("whatever you recommend", "the one you like most", "up to you", "it's your call"),
    *("you're the expert, you choose", "I have no idea, you decide", "pick something sensible"),
    *("lo que tú recomiendes", "la que te parezca mejor", "a tu criterio", "confío en ti"),
    *("el que creguis millor", "tria'l tu", "com vegis", "ho deixo a les teves mans"),
)
ALL = (
    *("choose the rest yourself", "use your recommendations for everything", "accept all defaults"),
    *("I leave the rest to you", "the rest is up to you", "just pick everything for me"),
    *("elige todo tú", "lo demás como veas", "usa los valores por defecto para el resto"),
    *("tria tu la resta", "la resta com vulguis", "accepta les teves propostes"),
)
OTHER = (
    *("whatever qwen has at 3b", "choose the best model by f1", "what works best?", "3 epochs"),
    *("what the paper recommends", "lo que tengo en datos.csv", "el que diu el paper"),
    *("choose the other gpu", "pick all linear layers", "the rest for validation"),
    *("pon el resto en test", "posa la resta a validació", "set everything in float32"),
)


def told(session: Session, text: str) -> str:
    """Send a message and return the reply."""
    return "\n".join(line.text for line in session.reply(text))


def kind(text: str) -> str | None:
    """Return the kind of request that a message is."""
    request = read_request(Message(text))
    return None if request is None else request.kind


@pytest.mark.parametrize("text", ONE)
def test_a_question_is_left_to_ftc(text: str) -> None:
    """Many phrases mean `you choose`."""
    assert kind(text) == "unsure"


@pytest.mark.parametrize("text", ALL)
def test_all_questions_are_left_to_ftc(text: str) -> None:
    """Phrases that delegate the rest, or everything."""
    assert kind(text) == "delegate"


@pytest.mark.parametrize("text", OTHER)
def test_similar_words_leave_nothing_to_ftc(text: str) -> None:
    """Recommendations by others, questions and values of fields delegate nothing."""
    assert kind(text) not in {"unsure", "delegate"}


def test_the_rest_is_chosen_and_undone_at_once(session: Session) -> None:
    """Each choice is listed, and one `undo` reverts them all."""
    session.reply("sort texts into labels with tickets.csv on a 4090, qwen3 0.6b")
    before = session.draft
    said = told(session, "choose the rest")
    assert isinstance(session.step, Done)
    assert said.count("I chose") >= 1
    session.reply("undo")
    assert session.draft == before


def test_the_rest_ends_at_a_question_without_a_suggestion(session: Session) -> None:
    """What the model should learn is never chosen for the user."""
    said = told(session, "choose everything")
    assert isinstance(session.step, Question)
    assert "I chose" not in said


def test_a_question_with_one_answer_is_not_asked(session: Session) -> None:
    """GGUF cannot hold a score head: ftc says so once and asks the next question."""
    rows = [{"prompt": f"q{n}", "chosen": f"good {n}", "rejected": f"bad {n}"} for n in range(90)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (session.observer.folder / "pairs.jsonl").write_text(text, encoding="utf-8")
    session.reply("a reward model with pairs.jsonl, rtx 4090")
    said = told(session, "qwen3 0.6b, lora")
    assert session.draft.get("/export/types") == []
    assert said.count("llama.cpp has no head for them") == 1
    assert "export.types = none" in said
    session.reply("undo")
    assert session.draft.get("/model/id") is None
    assert session.draft.get("/export/types") is None


@pytest.mark.parametrize("text", ["what is left?", "¿qué falta?", "què falta encara?"])
def test_what_is_left_is_told(session: Session, text: str) -> None:
    """The reply lists the unanswered fields and how to delegate them."""
    session.reply("qwen3 0.6b on a 4090")
    said = told(session, text)
    assert "data.source, method.type, export.types, name" in said


@pytest.mark.parametrize(
    "text", ["remove the last change", "quita lo último", "esborra l'últim canvi"]
)
def test_the_last_change_is_removed(session: Session, text: str) -> None:
    """A message that changes nothing does not count as a change."""
    session.reply("qwen3 0.6b on a 4090")
    session.reply("3 epochs")
    session.reply("3 epochs")
    session.reply(text)
    assert session.draft.get("/training/epochs") is None
    assert session.draft.get("/hardware/gpu") == "RTX-4090"
