"""Yes-or-no questions: the planner answers, and the draft does not change."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from ftc.tui.languages.voice import Language, Voice
from ftc.tui.questions.dialogue import Question
from ftc.tui.session.session import Session
from ftc.tui.state.situation import Observer

EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"


def ask(session: Session, question: str) -> list[str]:
    """Return the reply to a question, which must not change the draft."""
    before = session.draft
    told = [line.text for line in session.reply(question)]
    assert session.draft == before, question
    return told


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what would gkd do?", "GKD learns to give each token"),
        ("when is dpo the right choice?", "DPO learns from pairs of answers"),
        ("per a què serveix el rank?", "The rank is the inner dimension"),
        ("how can I use less memory?", "The plan needs "),
        ("it's too slow. any ideas?", "These changes would be quicker"),
        ("¿cómo puedo reducir la memoria?", "The plan needs "),
    ],
)
def test_a_term_and_a_goal_are_found_in_a_question(
    session: Session, question: str, answer: str
) -> None:
    """The question names one term, or a way to less memory, time or cost."""
    session.reply(EVERYTHING)
    assert answer in "\n".join(ask(session, question))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("should I use QLoRA?", "Either works. With method.type = qlora: fits with "),
        ("hmm, is qlora worse?", "Either works. With method.type = qlora: fits with "),
        ("do I need two GPUs?", "It is not needed. With hardware.count = 2: fits with "),
        ("is a 3060 enough?", "No. With hardware.gpu = RTX-3060: does not fit: "),
        ("should I use full fine-tuning?", "No. With method.type = full: does not fit: "),
        ("should I use bf16?", "It already is: fits with "),
        ("do I need a GPU?", "Without a GPU: "),
        ("is an L4 enough?", "It is enough, but slower. With hardware.gpu = L4: fits "),
        ("would an H100 be better?", "Either works. With hardware.gpu = H100-SXM5-80GB: fits "),
    ],
)
def test_the_planner_answers(
    session: Session, question: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply has the figures of both plans, and notes nothing; the disk has room."""
    free = SimpleNamespace(free=10**12)
    monkeypatch.setattr("ftc.compiler.resolve.hardware.psutil.disk_usage", lambda _: free)
    session.reply(EVERYTHING)
    told = ask(session, question)
    assert told[0].startswith(answer)
    assert told[0].startswith("It already is") or told[1].startswith("Currently: fits with ")


def test_what_is_quicker_is_said_to_be(session: Session) -> None:
    """Training must take long enough to compare."""
    session.reply("llama 3.1 8b on an L4, tickets.csv, q4, 90 epochs")
    faster = ask(session, "would an H100 be better?")[0]
    assert faster.startswith("That would be faster. With ")


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("should I use a bigger rank?", ["With method.rank = 32: fits"]),
        ("would a lower rank be better?", ["With method.rank = 8: fits"]),
        (
            "is the learning rate too high?",
            ["the loss jumps or diverges", "learning_rate = 0.0002"],
        ),
        ("how many epochs do I need?", ["How many passes over the data?", "uses epochs = "]),
        ("how high should the rank be?", ["Which rank should LoRA have?", "lora_rank = 16"]),
        ("which optimizer is best?", ["AdamW is the most reliable", "optimizer = adamw"]),
        ("do I need warmup?", ["How long should the learning rate warm up?", "warmup_steps = "]),
    ],
)
def test_a_field_without_a_value_is_explained(
    session: Session, question: str, answers: list[str]
) -> None:
    """With the planned value and its reason; "bigger" is tried with twice as much."""
    session.reply(EVERYTHING)
    told = "\n".join(ask(session, question))
    assert all(answer in told for answer in answers), told


@pytest.mark.parametrize(
    ("language", "question", "changed"),
    [
        ("ca", "hauria de fer servir un rang m\u00e9s gran?", "method.rank = 32"),
        ("ca", "i si poso 5 \u00e8poques?", "training.epochs = 5"),
        ("ca", "qu\u00e8 passaria si no fes servir lora?", "method.type = full"),
        ("es", "\u00bfser\u00eda mejor un rango m\u00e1s peque\u00f1o?", "method.rank = 8"),
        ("es", "\u00bfy si le pongo 5 \u00e9pocas?", "training.epochs = 5"),
        ("en", "what if we bumped epochs to 5?", "training.epochs = 5"),
    ],
)
def test_a_supposition_has_any_verb(
    folder: Path, language: Language, question: str, changed: str
) -> None:
    """First person, conditional and negation are understood."""
    session = Session(observer=Observer(folder=folder), voice=Voice(language=language))
    session.reply(EVERYTHING + ", lora")
    assert changed in "\n".join(ask(session, question))


def test_what_does_not_fit_makes_a_change_needed(session: Session) -> None:
    """Yes if the draft does not fit and the change does; not enough if neither fits."""
    session.reply("llama 3.1 8b on a 3060, tickets.csv, full fine-tuning, q4")
    assert ask(session, "should I use QLoRA?")[0].startswith("Yes. With method.type = qlora: fits")
    two = ask(session, "do I need two GPUs?")
    assert two[0].startswith("That alone is not enough. With hardware.count = 2: does not fit: ")


def test_what_is_wise_is_taken_on_a_yes(session: Session) -> None:
    """A useful change is proposed; a no, or a negative answer, changes nothing."""
    session.reply("llama 3.1 8b on a 3060, tickets.csv, q4")
    ask(session, "should I use QLoRA?")
    session.reply("yes")
    assert session.draft.get("/method/type") == "qlora"
    ask(session, "should I use full fine-tuning?")
    session.reply("ok")
    assert session.draft.get("/method/type") == "qlora"


def test_what_a_rule_forbids_is_said(session: Session) -> None:
    """The finding that the change would cause is the answer."""
    session.reply("llama 3.1 8b on a Quadro RTX 8000, tickets.csv, q4")
    told = ask(session, "should I use bf16?")
    assert any(
        line.startswith("No. With training.precision = bf16: error[FTC320]") for line in told
    )


def test_alternatives_become_the_question(session: Session) -> None:
    """Each has its plan; a number chooses it."""
    session.reply(EVERYTHING)
    told = ask(session, "lora or qlora?")
    assert told[-1] == "The options compared:"
    assert isinstance(session.step, Question)
    assert [option.changes[0].value for option in session.step.options] == ["lora", "qlora"]
    session.reply("2")
    assert session.draft.get("/method/type") == "qlora"


def test_a_size_and_a_model_are_other_requests(session: Session) -> None:
    """Changes that bring the peak below a size; the shortlist of models."""
    session.reply(EVERYTHING)
    assert ask(session, "is 80 GB enough?")[0].startswith("It already fits: the peak is ")
    smaller, changes = ask(session, "is 12 GB enough?")[:2]
    assert smaller.startswith("On a GPU with 12 GiB, such as the RTX-3060: does not fit: ")
    assert changes == "With one of these changes it would fit:"
    assert ask(session, "should I take a bigger model?")[0].startswith("These models in the table")


def test_what_no_plan_tells_is_not_guessed(session: Session) -> None:
    """It is not taken as a change; a term is explained, and the question is asked again."""
    assert ask(session, "should I use QLoRA?")[0].startswith("QLoRA: ")
    told = ask(session, "should I buy a dog?")
    assert told[0] == session.voice.say("outside")
    assert told[-1].startswith("What should the model learn to do?")


def test_compiling_is_no_answer(session: Session) -> None:
    """A question about an action that writes files is not answered, and nothing is done."""
    ask(session, "should I compile?")
    assert session.finished is None


def test_what_is_said_beside_a_question_is_noted(session: Session) -> None:
    """The statement changes the draft, the question does not."""
    told = [line.text for line in session.reply("I have a 4090. Should I use QLoRA?")]
    assert told[0] == "Noted: hardware.gpu = RTX-4090."
    assert session.draft.get("/hardware/gpu") == "RTX-4090"
    assert not session.draft.has("/method/type")


@pytest.mark.parametrize(
    ("language", "question", "answer"),
    [
        ("en", "do I need two GPUs?", "It is not needed. With "),
        ("ca", "necessito dues GPU?", "No cal. Amb "),
        ("ca", "hauria de fer servir QLoRA?", "Totes dues opcions serveixen. Amb "),
        ("es", "¿necesito dos GPU?", "No hace falta. Con "),
        ("es", "¿QLoRA es peor?", "Las dos opciones sirven. Con "),
        ("es", "¿debería usar QLoRA?", "Las dos opciones sirven. Con "),
    ],
)
def test_questions_are_answered_in_three_languages(
    folder: Path, language: Language, question: str, answer: str
) -> None:
    """In the language of the voice, without changing the draft."""
    talk = Session(observer=Observer(folder=folder), voice=Voice(language=language))
    talk.start()
    talk.reply(EVERYTHING)
    assert ask(talk, question)[0].startswith(answer)
