"""What a new user says first: questions that change nothing, missing data, and open questions."""

import json
from pathlib import Path

import pytest

from ftc.tui.languages.voice import Language, Voice
from ftc.tui.questions.dialogue import Question
from ftc.tui.session.session import Session
from ftc.tui.state.situation import Observer


@pytest.fixture
def chats(folder: Path) -> Path:
    """Return the folder with `chats.jsonl`, too."""
    rows = (
        {
            "messages": [
                {"role": "user", "content": f"Hello number {n}, how are you?"},
                {"role": "assistant", "content": f"My dear, answer {n}: have some soup."},
            ]
        }
        for n in range(60)
    )
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "chats.jsonl").write_text(text, encoding="utf-8")
    return folder


def begin(folder: Path, language: Language = "en") -> Session:
    """Return a started session in a folder."""
    talk = Session(observer=Observer(folder=folder), voice=Voice(language=language))
    talk.start()
    return talk


def said(session: Session, text: str) -> str:
    """Return the text of a reply."""
    return "\n".join(line.text for line in session.reply(text))


def test_the_only_possible_meaning_is_taken(chats: Path) -> None:
    """The other salamandra does not fit: which one is not asked, and the message has its card."""
    session = begin(chats)
    session.reply("EuroLLM-1.7B with lora on chats.jsonl, cpu, 16 GB of RAM")
    lines = session.reply("change it to salamandra")
    assert session.draft.get("/model/id") == "BSC-LT/salamandra-2b-instruct"
    (card,) = [line.card for line in lines if line.card]
    assert [row.what for row in card] == ["model.id"]
    before = session.draft
    session.reply("how long will it take?")
    assert session.draft == before


@pytest.mark.parametrize("question", ["how long will it take?", "which models are there?"])
def test_a_question_takes_no_answer(chats: Path, question: str) -> None:
    """An open question with one answer left stays open."""
    session = begin(chats)
    session.reply("EuroLLM-1.7B with lora on chats.jsonl, cpu, 16 GB of RAM")
    session.reply("change it to salamandra")
    session.reply("undo")
    only = "BSC-LT/salamandra-2b-instruct"
    session.step = session.offer(Question(pointer="/model/id"))
    options = tuple(each for each in session.step.options if each.label == only)
    session.step = Question(pointer="/model/id", options=options, withheld=options)
    before = session.draft
    session.reply(question)
    assert session.draft == before


@pytest.mark.parametrize(
    ("language", "question", "answer"),
    [
        ("en", "can I use it in ollama?", "No. With export.types = Q4_K_M"),
        ("ca", "puc fer-lo servir a ollama?", "No. Amb export.types = Q4_K_M"),
        ("es", "¿puedo usarlo en ollama?", "No. Con export.types = Q4_K_M"),
    ],
)
def test_a_classifier_needs_its_labels_as_text_for_ollama(
    folder: Path, language: Language, question: str, answer: str
) -> None:
    """llama.cpp has no head for scores: labels as text are proposed with the file."""
    session = begin(folder, language)
    session.reply("Qwen3-0.6B-Base, classification, tickets.csv, cpu, 16 GB of RAM, lora")
    assert answer in said(session, question)
    changed = {each.pointer: each.value for each in session.proposal}
    assert changed == {"/objective/type": "sft", "/export/types": ["Q4_K_M"]}
