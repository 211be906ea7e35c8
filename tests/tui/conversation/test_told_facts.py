"""Questions answered with facts: electricity, rented machines, personal data; and publishing."""

from pathlib import Path

import pytest

from ftc.tui.languages.voice import Language, Voice
from ftc.tui.session.session import Session
from ftc.tui.state.draft import read_draft
from ftc.tui.state.situation import Observer
from tests.tui.conftest import SPEC


def begin(folder: Path, language: Language = "en") -> Session:
    """Return a session about a whole spec with a GGUF file."""
    draft = read_draft({**SPEC, "model": "Qwen/Qwen3-0.6B", "export": ["Q4_K_M"]})
    talk = Session(observer=Observer(folder=folder), draft=draft, voice=Voice(language=language))
    talk.start()
    return talk


def said(session: Session, text: str) -> str:
    """Return the text of a reply."""
    return "\n".join(line.text for line in session.reply(text))


@pytest.mark.parametrize(
    ("language", "question", "told"),
    [
        ("en", "how much electricity will that use?", "Each 100 W"),
        ("ca", "quanta electricitat gastarà?", "Cada 100 W"),
        ("es", "¿cuánta electricidad va a gastar?", "Cada 100 W"),
        ("en", "what does that cost if a kwh is 0.30 euro", "At 0.3 per kWh"),
        ("es", "¿cuánta luz gasta a 0,30 euros el kWh?", "A 0,3 el kWh"),
        ("en", "what is the cheapest gpu to rent for this?", "--offers"),
        ("ca", "quina és la GPU més barata de llogar per a això?", "--offers"),
        ("es", "¿cuál es la GPU más barata de alquilar para esto?", "--offers"),
        ("en", "is there personal data in it?", "I found no e-mail addresses"),
        ("ca", "hi ha dades personals?", "No he trobat adreces de correu"),
        ("es", "¿hay datos personales?", "No he encontrado direcciones"),
    ],
)
def test_a_question_is_answered_from_plan_and_data(
    folder: Path, language: Language, question: str, told: str
) -> None:
    """The answer has the plan's hours, the command for offers, or what the files hold."""
    session = begin(folder, language)
    before = session.draft
    assert told in said(session, question)
    assert session.draft == before


def test_personal_data_is_counted(folder: Path) -> None:
    """The kinds and the rows are said, and never the text."""
    lines = [f"mail me at person{n}@example.com please,billing" for n in range(60)]
    text = "\n".join(["text,label", *lines]) + "\n"
    (folder / "tickets.csv").write_text(text, encoding="utf-8")
    reply = said(begin(folder), "is there personal data in it?")
    assert "60" in reply
    assert "example.com" not in reply


@pytest.mark.parametrize(
    ("language", "refusal"),
    [("en", "don't push"), ("en", "do not publish it"), ("ca", "no ho publiquis"),
     ("es", "no lo publiques")],
)  # fmt: skip
def test_publishing_is_asked_with_licences_and_taken_back(
    folder: Path, language: Language, refusal: str
) -> None:
    """The licence of the base is suggested, and a refusal removes the repository."""
    session = begin(folder, language)
    session.reply("push it to the hub as me/math-dpo privately")
    assert session.options[0].label == "apache-2.0"
    session.reply(refusal)
    assert session.draft.get("/publish") is None


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("how do i use it in ollama", "The bundle writes"),
        ("com el faig servir a ollama?", "El paquet escriu"),
        ("can I use it in ollama?", "Yes."),
        ("¿puedo usarlo en ollama?", "Sí."),
    ],
)
def test_only_a_question_for_yes_or_no_gets_yes(folder: Path, question: str, begins: str) -> None:
    """A question that begins with "how" is not answered with yes."""
    language: Language = "en" if question.isascii() and "com " not in question else "ca"
    language = "es" if "\u00bf" in question else language
    assert said(begin(folder, language), question).startswith(begins)
