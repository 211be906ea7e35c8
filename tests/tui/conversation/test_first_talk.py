"""What a new user says first: questions that change nothing, missing data, and open questions."""

import json
from pathlib import Path

import pytest

from ftc.tui.front_ends.plain import save
from ftc.tui.languages.spoken import find_spoken
from ftc.tui.languages.voice import Language, Voice
from ftc.tui.questions.dialogue import Question
from ftc.tui.session.session import Session
from ftc.tui.state.saved_state import find_kept
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


def test_a_question_leaves_the_open_one_open(chats: Path) -> None:
    """One salamandra does not fit; the other one is asked about, and a question is no answer."""
    session = begin(chats)
    session.reply("EuroLLM-1.7B with lora on chats.jsonl, cpu, 16 GB of RAM")
    before = session.draft
    session.reply("change it to salamandra")
    session.reply("how long will it take?")
    assert session.draft == before
    session.reply("llama 3 was trained with batches of 4 million")
    assert session.draft == before


@pytest.mark.parametrize("question", ["how long will it take?", "which models are there?"])
def test_a_question_takes_no_answer(chats: Path, question: str) -> None:
    """An open question with one answer left stays open."""
    session = begin(chats)
    session.reply("EuroLLM-1.7B with lora on chats.jsonl, cpu, 16 GB of RAM")
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


@pytest.fixture
def empty(folder: Path) -> Path:
    """Return the folder without its data."""
    (folder / "tickets.csv").unlink()
    return folder


@pytest.mark.parametrize(
    ("language", "goal", "lack"),
    [
        ("en", "I want a chatbot that talks like my grandma", "I have no data"),
        ("en", "it should speak like a pirate", "there is nothing, I don't have any data"),
        ("ca", "vull un xatbot que parli com la meva àvia", "no tinc dades"),
        ("es", "quiero un chatbot que hable como mi abuela", "no tengo datos"),
    ],
)
@pytest.mark.parametrize("messages", [1, 2])
def test_without_data_the_examples_are_offered(
    empty: Path, language: Language, goal: str, lack: str, messages: int
) -> None:
    """The goal may be said with the lack of data, or before."""
    session = begin(empty, language)
    for text in (f"{goal} but {lack}",) if messages == 1 else (goal, lack):
        session.reply(text)
    assert session.goal == "style"
    assert session.writes == "style"
    session.reply("yes")
    assert session.draft.get("/data/source") == "style-examples.jsonl"


@pytest.mark.parametrize(
    "lack",
    [
        "I don't have any yet",
        "I've got nothing",
        "could you show me an example?",
        "no en tinc, de dades",
        "no tinc res",
        "em pots donar un exemple?",
        "no tengo ninguno, ¿me puedes dar un ejemplo?",
        "no tengo nada",
    ],
)
def test_asked_for_data_one_may_have_none(empty: Path, lack: str) -> None:
    """The example file is offered; before the goal is known, that is asked."""
    session = begin(empty)
    session.reply("qwen3 0.6b on cpu")
    (none,) = session.options
    assert none.lacks_data
    session.reply(lack)
    assert session.lacks_data
    session.reply("talk like a pirate")
    assert session.writes == "style"
    session.reply("no")
    session.reply(lack)
    assert session.writes == "style"


def test_a_question_about_data_settles_no_goal(empty: Path) -> None:
    """The answer offers the example file for the goal in the question."""
    session = begin(empty)
    session.reply("how can I make data for a preference tuning?")
    assert session.writes == "preferences"
    assert not session.draft.data


@pytest.mark.parametrize(
    "question",
    [
        "how accurate will it be",
        "how precise can I expect it to be?",
        "com de bo serà el model",
        "quina precisió tindrà",
        "cómo de bueno será",
        "qué precisión tendrá",
    ],
)
def test_an_interrogative_asks_without_a_question_mark(chats: Path, question: str) -> None:
    """It sets nothing, and leads to no question about a field."""
    session = begin(chats)
    session.reply("qwen3 0.6b on chats.jsonl, cpu, 16 GB of RAM")
    before, step = session.draft, session.step
    session.reply(question)
    assert session.draft == before
    assert isinstance(session.step, Question)
    assert isinstance(step, Question)
    assert session.step.pointer == step.pointer


FACTS = {
    "how much disk do I need?": "of disk for its folder run/",
    "quant de disc em cal?": "de disc per a la carpeta run/",
    "¿cuánto disco necesito?": "de disco para la carpeta run/",
    "is my data good?": "FTC225",
    "són bones les meves dades?": "FTC225",
    "¿están bien mis datos?": "FTC225",
    "how do I use it afterwards?": "ask.py",
    "com l'utilitzo després?": "ask.py",
    "¿cómo lo uso después?": "ask.py",
    "why is it gated?": "is not gated",
    "cal acceptar condicions?": "no té l'accés restringit",
    "¿hay que aceptar condiciones?": "no tiene el acceso restringido",
    "why this one?": "I suggest lora: fits",
    "why do you recommend it?": "I suggest lora: fits",
    "per què aquest?": "Recomano lora: hi cap",
    "¿por qué ese?": "Recomiendo lora: cabe",
}


@pytest.mark.parametrize(("question", "fact"), FACTS.items())
def test_questions_are_answered_from_what_is_known(chats: Path, question: str, fact: str) -> None:
    """Not with the question of the field that they mention."""
    session = begin(chats)
    session.reply("qwen3 0.6b on chats.jsonl, cpu, 16 GB of RAM")
    before = session.draft
    session.voice = Voice(language=find_spoken(question) or "en")
    assert fact in said(session, question)
    assert session.draft == before


@pytest.mark.parametrize(
    "question",
    ["which one is better, llama or qwen?", "quin és millor, llama o qwen?", "llama o qwen?"],
)
def test_families_are_compared_in_the_table(chats: Path, question: str) -> None:
    """Only models of both families are on offer."""
    session = begin(chats)
    session.reply("chats.jsonl, cpu, 16 GB of RAM")
    lines = session.reply(question)
    assert any(line.kind == "table" for line in lines)
    makers = {option.label.partition("/")[0] for option in session.options}
    assert makers == {"meta-llama", "Qwen"}


@pytest.mark.parametrize(
    ("language", "question", "missing"),
    [
        ("en", "will it fit?", "Still missing: the data."),
        ("ca", "hi cabrà?", "Hi falta: les dades."),
        ("es", "¿cabrá?", "Falta: los datos."),
    ],
)
def test_only_what_is_missing_is_named(
    empty: Path, language: Language, question: str, missing: str
) -> None:
    """The model and the machine are known."""
    session = begin(empty, language)
    session.reply("llama 3.2 1b, cpu")
    assert missing in said(session, question)


@pytest.mark.parametrize("words", ["ok do it", "yes go ahead", "d'acord fes-ho", "vale adelante"])
def test_a_yes_may_be_said_twice(empty: Path, words: str) -> None:
    """Two words of consent without a comma are a yes."""
    session = begin(empty)
    session.reply("talk like a pirate")
    session.reply(words)
    assert session.draft.get("/data/source") == "style-examples.jsonl"


def test_the_tuned_model_of_a_base_model_comes_first(chats: Path) -> None:
    """Conversations need a chat template, which its own instruct model has."""
    session = begin(chats)
    session.reply("EuroLLM-1.7B with lora on chats.jsonl, cpu, 16 GB of RAM")
    session.choose(0)
    assert session.draft.get("/model/id") == "utter-project/EuroLLM-1.7B-Instruct"


@pytest.mark.parametrize(
    ("language", "text", "told"),
    [
        ("en", "use other.csv with qwen3 4b", "`undo` goes back to the draft"),
        ("en", "talk like a pirate", "`undo` goes back to the draft"),
        ("ca", "fes servir correus.csv", "`desfés` torna a l'esborrany"),
        ("es", "usa correos.csv", "`deshacer` vuelve al borrador"),
    ],
)
def test_an_offered_draft_is_not_lost_without_a_word(
    folder: Path, language: Language, text: str, told: str
) -> None:
    """`undo` brings it back."""
    first = begin(folder)
    first.reply("tickets.csv, a 4090")
    again = Session(
        observer=Observer(folder=folder), voice=Voice(language=language), kept=first.draft
    )
    again.start()
    assert told in said(again, text)
    again.reply({"en": "undo", "ca": "desfés", "es": "deshacer"}[language])
    assert again.draft == first.draft


@pytest.mark.parametrize("text", ["what is LoRA?", "quit"])
def test_an_offered_draft_stays_saved(folder: Path, text: str) -> None:
    """Nothing else has begun."""
    first = begin(folder)
    first.reply("tickets.csv, a 4090")
    again = Session(observer=Observer(folder=folder), voice=Voice(language="en"), kept=first.draft)
    again.start()
    again.reply(text)
    save(again)
    kept = find_kept(folder)
    assert kept is not None
    assert kept.draft == first.draft
