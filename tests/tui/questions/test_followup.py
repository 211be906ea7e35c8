"""Messages about the number that was set last, and messages that are about something else."""

from pathlib import Path

import pytest

from ftc.tui.session.session import Session
from ftc.tui.state.situation import Observer


@pytest.fixture
def session(whole: Session) -> Session:
    """Return a session about a whole spec, in which the rank was set last."""
    whole.reply("rank 64")
    return whole


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("make it 128", 128),
        ("hmm, bump it up to 128 please", 128),
        ("no wait, half of that", 32),
        ("actually twice that", 128),
        ("súbelo a 128", 128),
        ("no, mejor la mitad", 32),
        ("ponle 48 mejor", 48),
        ("puja'l a 128", 128),
        ("no, millor la meitat", 32),
        ("deixa-ho en 16", 16),
    ],
)
def test_a_pronoun_stands_for_the_last_number(session: Session, text: str, rank: int) -> None:
    """A question or an undo in between does not change what it stands for."""
    session.reply("why?")
    session.reply(text)
    assert session.draft.get("/method/rank") == rank


@pytest.mark.parametrize(
    "text", ["make it 3 epochs", "make it faster", "half of my friends use 4 bit", "128 what?"]
)
def test_other_messages_leave_it(session: Session, text: str) -> None:
    """More words than a verb, a pronoun and a number are about something else."""
    session.reply(text)
    assert session.draft.get("/method/rank") == 64


def test_after_two_numbers_it_is_neither(session: Session) -> None:
    """A message that set two leaves nothing to refer to."""
    session.reply("rank 32 and 3 epochs")
    session.reply("make it 5")
    assert (session.draft.get("/method/rank"), session.draft.get("/training/epochs")) == (32, 3)


@pytest.mark.parametrize(
    ("question", "text", "pointer", "factor"),
    [
        ("why that learning rate?", "set it to half", "/training/learning_rate", 0.5),
        ("¿por qué ese learning rate?", "ponlo a la mitad", "/training/learning_rate", 0.5),
        ("¿por qué esa tasa de aprendizaje?", "ponla a la mitad", "/training/learning_rate", 0.5),
        (
            "per què aquesta taxa d'aprenentatge?",
            "posa-la a la meitat",
            "/training/learning_rate",
            0.5,
        ),
        ("how many epochs?", "double it", "/training/epochs", 2),
        ("which batch size?", "make it half", "/training/global_batch", 0.5),
    ],
)
def test_a_pronoun_stands_for_the_number_in_question(
    session: Session, question: str, text: str, pointer: str, factor: float
) -> None:
    """A question that names a field is about its planned value; other questions change nothing."""
    now = session.draft.get(pointer) or session.situation.planned_values()[pointer]
    session.reply(question)
    session.reply(text)
    assert session.draft.get(pointer) == pytest.approx(now * factor)


def test_a_pronoun_without_a_number_is_asked_about(whole: Session) -> None:
    """Nothing was set or named, or two numbers were."""
    before = whole.draft
    assert "set it to half" in whole.reply("set it to half")[-1].text
    whole.reply("why that rank and that learning rate?")
    assert "double it" in whole.reply("double it")[-1].text
    assert whole.draft == before


def test_a_pronoun_for_a_number_without_a_value_asks_for_it(folder: Path) -> None:
    """Without a plan there is no rate to halve."""
    begun = Session(observer=Observer(folder=folder))
    begun.start()
    begun.reply("why that learning rate?")
    begun.reply("set it to half")
    assert [each.pointer for each in begun.reading.choices] == ["/training/learning_rate"]


@pytest.mark.parametrize("text", ["halve it", "redúcelo a la mitad", "redueix-ho a la meitat"])
def test_only_counts_are_rounded(session: Session, text: str) -> None:
    """Epochs may be a fraction, a rank may not."""
    session.reply("3 epochs")
    session.reply(text)
    assert session.draft.get("/training/epochs") == pytest.approx(1.5)
    session.reply("rank 9")
    session.reply(text)
    assert session.draft.get("/method/rank") == 4
