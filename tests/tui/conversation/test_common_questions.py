"""Common questions are answered from the table, in three languages, and change nothing."""

from pathlib import Path
from typing import Final

import pytest

from ftc.tui.conversation.common_questions import (
    CERTAIN,
    LIKELY,
    all_questions,
    find_question,
)
from ftc.tui.conversation.topics import TOPICS
from ftc.tui.languages.voice import LANGUAGES, Language, Voice
from ftc.tui.session.session import Session
from ftc.tui.state.draft import read_draft
from ftc.tui.state.situation import Observer

#: Questions in words that no example has, and the entry that answers each.
ASKED: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "what do the held-out test examples do?": "held_out",
        "will it forget the general knowledge it had?": "forgetting",
        "how can I be sure that the training was a success?": "worked",
        "I own a 3060 and a 4070, can both cards work together?": "mixed_gpus",
        "what is the longest example that I can use, in tokens?": "row_length",
        "will the model be able to call my functions?": "tool_calls",
        "how much worse are 4-bit models than 16-bit ones?": "quantization_loss",
        "does the GPU server need an internet connection?": "offline",
        "so who is it that made you?": "maker",
        "what GPU could I use instead of my 4090?": "other_gpu",
        "in what directory do I find the output files?": "results",
        "could I fine-tune this on an M3 MacBook Pro?": "not_nvidia",
        "does ftc run under Windows with WSL2?": "windows",
        "can I use this from a docker container?": "docker",
        "how can I push the finished model to the Hugging Face Hub?": "upload",
        "how do I prevent it from inventing facts?": "hallucination",
        "what makes ftc different from Unsloth?": "other_trainers",
        "may I modify the scripts by hand after compiling?": "edit_scripts",
        "is RAG better than fine-tuning for our documents?": "tune_or_prompt",
        "which cloud can I rent a GPU from?": "rent",
        "so how good do you think the model will be?": "how_good",
        "why did you pick such a small batch size?": "batch_size",
        "would a larger model give much better answers?": "model_size",
        "which model do you like best for this?": "choose_model",
        "how tight will the memory be?": "fits",
        "what size has the exported file?": "file_size",
        "can I have a look at the spec?": "spec_now",
        "what edits did you make up to now?": "changes_made",
        "do I have to log in to Hugging Face?": "account",
    },
    "ca": {
        "en quina carpeta trobo els resultats?": "results",
        "per a què serveixen les files de test i de validació?": "held_out",
        "hi ha risc que el model oblidi el que ja sabia?": "forgetting",
        "com puc comprovar si l'entrenament ha funcionat?": "worked",
        "es pot entrenar amb un MacBook M3?": "not_nvidia",
        "tinc una 3060 i una 4070, es poden barrejar totes dues targetes?": "mixed_gpus",
        "com de llargs poden ser els exemples?": "row_length",
        "es perd gaire qualitat amb 4 bits?": "quantization_loss",
        "la màquina ha de tenir connexió a internet?": "offline",
        "i a tu, qui t'ha fet?": "maker",
        "es pot executar en un contenidor Docker?": "docker",
        "funcionarà a Windows amb WSL2?": "windows",
        "com puc pujar el resultat al Hub de Hugging Face?": "upload",
        "com evito que el model s'inventi respostes?": "hallucination",
        "quina diferència hi ha entre ftc i Unsloth?": "other_trainers",
        "es poden modificar a mà els scripts generats?": "edit_scripts",
        "és millor RAG que ajustar el model?": "tune_or_prompt",
        "he de saber programar per fer servir això?": "skills",
        "puc afegir exemples nous d'aquí a un mes?": "more_data",
        "el resultat serà tan bo com ChatGPT?": "versus_large",
        "quin model em va millor en català?": "choose_model",
        "hi cap tot a la memòria de la GPU?": "fits",
        "quina mida tindrà el gguf exportat?": "file_size",
        "què hi ha ara a l'especificació?": "spec_now",
        "quins canvis portes fets?": "changes_made",
        "he de tenir usuari de Hugging Face per baixar-lo?": "account",
    },
    "es": {
        "¿en qué carpeta encuentro los resultados?": "results",
        "¿para qué sirven las filas de test y de validación?": "held_out",
        "¿hay riesgo de que el modelo olvide lo que ya sabía?": "forgetting",
        "¿cómo puedo comprobar si el entrenamiento ha funcionado?": "worked",
        "¿se puede entrenar con un MacBook M3?": "not_nvidia",
        "¿cómo de largos pueden ser mis ejemplos?": "row_length",
        "¿se pierde mucha calidad con 4 bits?": "quantization_loss",
        "¿la máquina tiene que tener conexión a internet?": "offline",
        "¿y quién te ha creado?": "maker",
        "¿se puede ejecutar en un contenedor Docker?": "docker",
        "¿funcionará en Windows con WSL2?": "windows",
        "¿cómo puedo publicar el resultado en Hugging Face?": "upload",
        "¿cómo evito que el modelo se invente respuestas?": "hallucination",
        "¿qué diferencia hay entre ftc y Unsloth?": "other_trainers",
        "¿se pueden modificar a mano los scripts generados?": "edit_scripts",
        "¿puedo dejarlo a medias y continuar mañana?": "resume",
        "¿el modelo puede aprender a llamar a mis funciones?": "tool_calls",
        "¿puedo añadir ejemplos nuevos dentro de un mes?": "more_data",
        "¿hay que saber programar para usar esto?": "skills",
        "¿será tan bueno como GPT-4?": "versus_large",
        "¿qué modelo me va mejor para esto?": "choose_model",
        "¿cabe en memoria? ¿cuánto ocupa?": "fits",
        "¿cuánto ocupará el archivo final?": "file_size",
        "¿qué hay ahora en la especificación?": "spec_now",
        "¿qué cambios llevas hechos?": "changes_made",
        "¿me tengo que registrar en Hugging Face?": "account",
    },
}
#: Chit-chat, changes, and questions that the planner or the glossary answers.
NOT_ASKED: Final[dict[Language, tuple[str, ...]]] = {
    "en": (
        "what's the weather like today?",
        "who won the match last night?",
        "can you write a poem about my cat?",
        "use two GPUs",
        "should I use QLoRA?",
        "what is LoRA?",
        "train it for 5 epochs",
        "where should I go on holiday?",
        "how are you?",
        "make the test split 20%",
        "and what happens to row 10?",
        "who can pick me up from the airport?",
    ),
    "ca": (
        "quin temps fa avui?",
        "qui va guanyar el partit ahir?",
        "em pots escriure un poema?",
        "fes servir dues GPU",
        "hauria de fer servir QLoRA?",
        "què és LoRA?",
        "entrena'l 5 èpoques",
        "on puc anar de vacances?",
        "com estàs?",
        "posa el rang a 32",
        "puc canviar de feina?",
        "què passa amb la fila 3?",
    ),
    "es": (
        "¿qué tiempo hace hoy?",
        "¿quién ganó el partido ayer?",
        "¿me escribes un poema?",
        "usa dos GPU",
        "¿debería usar QLoRA?",
        "¿qué es LoRA?",
        "entrénalo 5 épocas",
        "¿dónde puedo ir de vacaciones?",
        "¿cómo estás?",
        "pon el rango a 32",
        "¿cabe en el maletero?",
        "¿qué pasa con la fila 3?",
    ),
}
DRAFT: Final = {
    "name": "demo",
    "model": "Qwen/Qwen2.5-7B-Instruct",
    "data": "tickets.csv",
    "method": "lora",
    "hardware": "1x RTX-4090",
    "export": ["Q4_K_M"],
}


@pytest.fixture
def drafted(folder: Path) -> Session:
    """Return a started session with a whole draft."""
    talk = Session(observer=Observer(folder=folder), draft=read_draft(DRAFT))
    talk.start()
    return talk


def answers(language: Language) -> set[str]:
    """Return the answers of the table in a language."""
    return {each.answer[language] for each in all_questions() if each.answer}


def told(session: Session, text: str, language: Language) -> str:
    """Return the first line of the reply in a language; the session goes on as before."""
    talk = session.fork()
    talk.voice = Voice(language=language)
    reply = talk.reply(text)
    return reply[0].text


def test_the_table_is_whole() -> None:
    """Each entry has examples in three languages, and an answer, a topic of facts, or both."""
    ids = [entry.id for entry in all_questions()]
    assert len(set(ids)) == len(ids) >= 45
    for entry in all_questions():
        assert all(len(entry.asks[language]) >= 4 for language in LANGUAGES), entry.id
        assert set(entry.asks) == set(LANGUAGES)
        assert entry.answer or entry.topic in TOPICS, entry.id
        assert not entry.answer or set(entry.answer) == set(LANGUAGES)


@pytest.mark.prove
@pytest.mark.parametrize("language", LANGUAGES)
def test_questions_in_other_words_are_answered(drafted: Session, language: Language) -> None:
    """The entry that fits answers; none of the questions is an example of the table."""
    examples = {each for entry in all_questions() for each in entry.asks[language]}
    entries = {entry.id: entry for entry in all_questions()}
    for text, wanted in ASKED[language].items():
        assert text not in examples
        found = find_question(text, language, LIKELY)
        assert found is not None, text
        assert found.id == wanted, text
        if entries[wanted].answer:
            assert told(drafted, text, language) == entries[wanted].answer[language], text


@pytest.mark.prove
@pytest.mark.parametrize("language", LANGUAGES)
def test_other_messages_are_not_answered_by_the_table(drafted: Session, language: Language) -> None:
    """Changes, chit-chat, and questions that the planner or the glossary answers."""
    for text in NOT_ASKED[language]:
        assert told(drafted, text, language) not in answers(language), text


@pytest.mark.prove
def test_a_question_of_the_table_changes_nothing(drafted: Session) -> None:
    """The first example of each entry leaves the draft alone, in each language."""
    for language in LANGUAGES:
        for entry in all_questions():
            talk = drafted.fork()
            talk.voice = Voice(language=language)
            talk.reply(entry.asks[language][0])
            assert talk.draft == drafted.draft, entry.id


@pytest.mark.prove_all
def test_left_out_examples_choose_the_thresholds() -> None:
    """An example that is left out is mostly found by the others above the thresholds."""
    likely, certain, less = (
        [
            found is entry
            for entry in all_questions()
            for language in LANGUAGES
            for text in entry.asks[language]
            if (found := find_question(text, language, least, without=text)) is not None
        ]
        for least in (LIKELY, CERTAIN, LIKELY - 0.15)
    )
    assert sum(likely) >= 0.75 * len(likely)
    assert sum(certain) >= 0.85 * len(certain)
    assert sum(less) - sum(likely) < 0.75 * (len(less) - len(likely))


def test_the_plan_ends_the_answer(drafted: Session) -> None:
    """The values of this plan follow the answer about them."""
    reply = [line.text for line in drafted.reply("how is the test set used?")]
    assert reply[1].startswith("The plan uses validation_rows = 24: ")
    assert reply[2].startswith("The plan uses test_rows = 24: ")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("thanks!", "thanks"),
        ("thank you very much", "thanks"),
        ("gràcies!", "thanks"),
        ("muchas gracias", "thanks"),
        ("I'm lost, help", "help"),
        ("no entiendo nada, ayuda", "help"),
        ("estic perduda", "help"),
        ("can you explain the plan?", "plan"),
        ("em pots explicar el pla?", "plan"),
        ("¿puedes explicarme el plan?", "plan"),
        ("can you make training cheaper?", "cheaper"),
        ("pots abaratir l'entrenament?", "cheaper"),
        ("¿puedes abaratar el entrenamiento?", "cheaper"),
    ],
)
def test_polite_words_and_plain_requests(drafted: Session, text: str, kind: str) -> None:
    """They are requests, and change nothing."""
    before = drafted.draft
    drafted.reply(text)
    assert drafted.reading.request is not None
    assert drafted.reading.request.kind == kind
    assert drafted.draft == before


def test_thanks_is_no_name(folder: Path) -> None:
    """Polite words do not answer the open question, which is asked again."""
    session = Session(observer=Observer(folder=folder), voice=Voice(language="es"))
    session.start()
    session.reply("qwen3 4b, tickets.csv, una 4090, sin gguf")
    asked = session.step
    assert session.reply("¡gracias!")[0].text == "De nada."
    assert session.step == asked


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("show me the specification", "en"),
        ("enséñame la especificación", "es"),
        ("escribe el spec", "es"),
        ("enséñame cómo queda", "es"),
        ("ensenya'm l'especificació", "ca"),
        ("em deixes mirar l'especificació?", "ca"),
    ],
)
def test_the_spec_is_shown(drafted: Session, text: str, language: Language) -> None:
    """The whole spec answers, and nothing changes."""
    before = drafted.draft
    assert told(drafted, text, language) == drafted.spec_text()
    assert drafted.draft == before


@pytest.mark.parametrize(
    ("text", "language", "beginning"),
    [
        ("which model would you pick and why?", "en", "These models"),
        ("will it fit? how tight is it?", "en", "18.1 GiB per device at the peak"),
        ("hi cap a la memòria?", "ca", "18,1 GiB per dispositiu al pic"),
        ("quant ocuparà el fitxer final?", "ca", "Mida del resultat: 16 bit"),
        ("¿qué has cambiado?", "es", "Todavía no has cambiado nada."),
        ("què passa si el portàtil s'apaga a mitges?", "ca", "L'entrenament es pot aturar"),
        ("what happens to row 10?", "en", "No row is left out: all 240"),
    ],
)
def test_the_values_of_the_plan_answer(
    drafted: Session, text: str, language: Language, beginning: str
) -> None:
    """A question about this plan is answered with its values."""
    assert told(drafted, text, language).startswith(beginning)


def test_the_plan_has_its_main_values(drafted: Session) -> None:
    """The peak, the batch and the learning rate follow whether it fits."""
    reply = [line.text for line in drafted.reply("show me the plan")]
    assert reply[1].startswith("Peak memory ")
    assert "; batch of " in reply[1]
    assert "; learning rate " in reply[1]


@pytest.mark.parametrize(
    ("text", "language"),
    [("show me the plan", "en"), ("mostra'm el pla", "ca"), ("muestra el plan", "es")],
)
def test_the_open_question_keeps_from_planning(folder: Path, text: str, language: Language) -> None:
    """Columns without a role are a question, and it is named."""
    rows = "".join(f"text {n} is here,answer {n} goes there\n" for n in range(60))
    (folder / "odd.csv").write_text(f"alpha,beta\n{rows}", encoding="utf-8")
    talk = Session(observer=Observer(folder=folder), draft=read_draft(DRAFT | {"data": "odd.csv"}))
    talk.start()
    assert "`data.columns.prompt`" in told(talk, text, language)
