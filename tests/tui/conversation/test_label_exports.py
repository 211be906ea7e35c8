"""A classifier in a GGUF file: the label as text, or a head without the file; and its menu item."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ftc.compiler.shortlist import ModelRequirements, Pick
from ftc.tui.conversation.repair import repair
from ftc.tui.languages.voice import LANGUAGES, Language, Voice
from ftc.tui.questions.choices import meets_all
from ftc.tui.questions.dialogue import Question
from ftc.tui.session.session import Session
from ftc.tui.session.view import make_offers, make_view
from ftc.tui.state.draft import read_draft
from ftc.tui.state.situation import Observer


def begin(folder: Path, language: Language = "en") -> Session:
    """Return a started session in a folder."""
    talk = Session(observer=Observer(folder=folder), voice=Voice(language=language))
    talk.start()
    return talk


def said(session: Session, text: str) -> str:
    """Return the text of a reply."""
    return "\n".join(line.text for line in session.reply(text))


@pytest.mark.parametrize(
    ("language", "text", "alternative"),
    [
        ("en", "tickets.csv, a 4090, a small classifier in gguf for ollama", "head gives"),
        ("en", "train a classifier on tickets.csv for llama.cpp, a 4090", "head gives"),
        ("ca", "tickets.csv, una 4090, vull un classificador en gguf per a ollama", "un capçal"),
        ("es", "tickets.csv, una 4090, quiero un clasificador en gguf para ollama", "un cabezal"),
    ],
)
def test_a_classifier_for_a_file_writes_its_label(
    folder: Path, language: Language, text: str, alternative: str
) -> None:
    """The training is one that works, the alternative is named, and models are offered."""
    session = begin(folder, language)
    reply = said(session, text)
    assert session.draft.get("/objective/type") == "sft"
    assert session.draft.get("/export/types") == ["Q4_K_M"]
    assert alternative in reply
    assert isinstance(session.step, Question)
    assert session.step.pointer == "/model/id"
    assert session.options


@pytest.mark.parametrize(
    "texts",
    [
        ("tickets.csv, a 4090, train a classifier", "q4_k_m for ollama please"),
        ("tickets.csv, a 4090, a classification head, q4_k_m",),
        ("tickets.csv, a 4090, qwen3 0.6b, lora, a classification head, q4_k_m",),
    ],
)
def test_a_contradiction_is_asked_about_at_once(folder: Path, texts: tuple[str, ...]) -> None:
    """With both ways out, the panel shows it, and each way leads on."""
    ways: tuple[Mapping[str, object], ...] = ({"/objective/type": "sft"}, {"/export/types": []})
    for number, way in enumerate(ways):
        session = begin(folder)
        for text in texts:
            reply = said(session, text)
        assert "FTC570" in reply
        assert make_view(session).findings[0].code == "FTC570"
        assert len(make_offers(session)) == len(ways)
        session.reply(str(number + 1))
        assert all(session.draft.get(pointer) == value for pointer, value in way.items())
        assert "FTC570" not in [each.code for each in session.situation.findings]


def test_a_contradiction_is_told_to_other_questions(folder: Path) -> None:
    """A question about models answers with it, and so does the request for a fix."""
    session = begin(folder)
    session.reply("tickets.csv, a 4090, a classification head, q4_k_m")
    reply = said(session, "which is the smallest that would be good enough?")
    assert "FTC570" in reply
    assert "No model of the table" not in reply
    repair(session, "FTC570")
    assert len(session.options) == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_menu_item_is_its_words(folder: Path, language: Language) -> None:
    """The first question leads to the same draft by its number and by the words of the answer."""
    asked = begin(folder, language)
    for number, words in enumerate(make_offers(asked), start=1):
        chosen, typed = begin(folder, language), begin(folder, language)
        chosen.reply(str(number))
        typed.reply(words)
        assert (chosen.draft, chosen.goal) == (typed.draft, typed.goal), words


def test_the_menu_and_a_sentence_lead_to_one_draft(folder: Path) -> None:
    """A sentence with the words of the menu item sets the same objective."""
    chosen, typed = begin(folder), begin(folder)
    for text in ("1", "tickets.csv"):
        chosen.reply(text)
    typed.reply("I want to sort texts into labels with tickets.csv")
    assert chosen.draft.data == typed.draft.data


def test_a_file_that_needs_another_objective_says_so(folder: Path) -> None:
    """The GGUF types of a classifier are offered with the label as text, and are not suggested."""
    session = begin(folder)
    session.reply("tickets.csv, a 4090, qwen3 0.6b, lora, a classification head")
    assert isinstance(session.step, Question)
    assert session.step.pointer == "/export/types"
    first, *_, last = make_offers(session)
    assert "writes the label as text" in first
    assert "(suggested)" in last
    session.reply("1")
    assert session.draft.get("/objective/type") == "sft"
    assert session.draft.get("/export/types") == ["Q4_K_M"]


def test_without_a_model_the_nearest_are_offered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no model meets all requirements, those that miss one are offered with what they miss."""
    shortlist = Observer.shortlist

    def strict(self: Observer, wish: ModelRequirements) -> tuple[Pick, ...]:
        return shortlist(self, wish) if wish.hardware is None else ()

    monkeypatch.setattr(Observer, "shortlist", strict)
    draft = read_draft({"data": "tickets.csv", "hardware": "1x RTX-4090"})
    session = Session(observer=Observer(folder=folder), draft=draft)
    session.start()
    assert session.options
    assert not any(map(meets_all, session.options))
    assert all("does not fit on this hardware" in each for each in make_offers(session))
    monkeypatch.setattr(Observer, "shortlist", lambda _self, _wish: ())
    session.go_to(draft)
    assert "No model of the table" in "\n".join(line.text for line in session.ask())
