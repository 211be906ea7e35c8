"""Offered answers: each with its plan, its reason, and the method that it needs."""

import json
import time
from pathlib import Path

import pytest

from ftc.compiler.knowledge.well_known.models import find_model
from ftc.tui.languages.voice import LANGUAGES, Language, Voice
from ftc.tui.questions.dialogue import Option, Question
from ftc.tui.session.session import Session
from ftc.tui.state.draft import read_draft
from ftc.tui.state.situation import Observer

KEY_SECONDS = 0.1


def answers(session: Session) -> str:
    """Write free answers, for which larger models are better; return the file's name."""
    rows = [
        {"prompt": f"question {n} about item {n * 7}", "completion": f"item {n * 7} is in row {n}"}
        for n in range(240)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (session.observer.folder / "answers.jsonl").write_text(text, encoding="utf-8")
    return "answers.jsonl"


def offered(session: Session, text: str) -> dict[str, Option]:
    """Return the answers on offer after a message, by label."""
    session.reply(text)
    assert isinstance(session.step, Question)
    return {option.label: option for option in session.options}


def test_a_model_that_fits_only_quantized_brings_qlora_along(session: Session) -> None:
    """Choosing it sets both, and gives the plan that was shown."""
    options = offered(session, f"{answers(session)}, a 3060")
    methods = {
        label: {change.pointer: change.value for change in option.changes}.get("/method/type")
        for label, option in options.items()
    }
    quantized = [label for label, method in methods.items() if method == "qlora"]
    assert quantized
    assert methods["meta-llama/Llama-3.2-1B-Instruct"] is None
    session.reply(str([*options].index(quantized[0]) + 1))
    assert session.draft.get("/method/type") == "qlora"
    assert session.situation.plan is not None
    assert session.situation.plan.memory.fits


def test_a_method_that_was_said_stays(session: Session) -> None:
    """Only models that fit with it are offered."""
    session.reply("lora")
    options = offered(session, "tickets.csv, a 3060")
    assert options
    for option in options.values():
        assert [change.pointer for change in option.changes] == ["/model/id"]
        assert option.plan is not None
        assert option.plan.memory.fits


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_model_says_why_it_is_there(session: Session, language: str) -> None:
    """The first one also says what a larger device would change, in the user's language."""
    session.voice = Voice(language=language)  # type: ignore[arg-type]  # one of LANGUAGES
    options = list(offered(session, f"{answers(session)}, a 4090").values())
    why = [session.consequence(option) for option in options]
    assert session.voice.say("model.reason.largest") in why[0]
    assert all("iB" in each for each in why)
    assert len({each.split("; ")[1] for each in why}) == len(why)
    (larger,) = [values for key, values in options[0].told if key == "model.larger"]
    assert larger["model"] in why[0]


def test_a_slow_machine_is_offered_the_quickest_model_first(session: Session) -> None:
    """On a CPU the order is by time, and the first reason says so."""
    options = list(offered(session, f"{answers(session)}, no gpu").values())
    seconds = [option.plan.time_seconds or 0.0 for option in options if option.plan is not None]
    assert seconds[0] == min(seconds) < max(seconds)
    assert session.voice.say("model.reason.soonest") in session.consequence(options[0])
    assert session.voice.say("model.reason.quickest") not in session.consequence(options[0])


def test_without_hardware_nothing_is_said_to_train_in_a_day(session: Session) -> None:
    """The first model is the largest of all, and its reason says what to set first."""
    session.reply(answers(session))
    first = next(iter(offered(session, "which model do you recommend?").values()))
    assert first.plan is None
    assert session.voice.say("model.reason.largest_known") in session.consequence(first)


def test_an_answer_with_a_plan_comes_at_once(folder: Path) -> None:
    """Under 100 ms once the file was read; the best of five runs."""
    session = Session(observer=Observer(folder=folder), voice=Voice(language="en"))
    session.start()
    session.reply("llama 3.1 8b on my 4090, tickets.csv, q4, qlora, call it a")
    seconds = []
    for epochs in range(2, 7):
        begin = time.perf_counter()
        session.reply(f"{epochs} epochs")
        seconds.append(time.perf_counter() - begin)
        assert session.situation.plan is not None
        assert session.situation.plan.decisions.training.epochs.value == epochs
    assert min(seconds) < 2 * KEY_SECONDS


def test_what_fits_already_is_not_cut_short(session: Session) -> None:
    """Cheaper means less time, or less memory in similar time; rows are never truncated."""
    session.reply("qwen3 4b, tickets.csv, a 4090, q4, lora, call it a")
    plan = session.situation.plan
    assert plan is not None
    assert plan.time_seconds is not None
    for option in offered(session, "make it cheaper").values():
        assert option.plan is not None
        assert option.plan.time_seconds is not None
        assert option.plan.time_seconds <= 1.1 * plan.time_seconds
        assert (
            option.plan.decisions.rows.max_length.value >= plan.decisions.rows.max_length.value // 2
        )
    session.reply("no")
    assert session.options == ()


@pytest.mark.parametrize("said", [{"max_length": 64}, {"splits": {"test": 0.2}}], ids=str)
def test_what_only_the_plan_reads_does_not_change_the_data(
    folder: Path, said: dict[str, object]
) -> None:
    """The facts do not depend on it, so the file is not read again."""
    data = [{"source": "tickets.csv"}, {"source": "tickets.csv", **said}]
    looked = [Observer(folder=folder).look(read_draft({"data": each})).data for each in data]
    assert looked[0] is not None
    assert looked[0] == looked[1]
    observer = Observer(folder=folder)
    first, second = (observer.look(read_draft({"data": each})).data for each in data)
    assert first is second


def test_an_answer_is_withheld_with_its_reason(session: Session) -> None:
    """QLoRA would fit, but the scripts of embedding models do not have it."""
    rows = [{"text1": f"a {n}", "text2": f"b {n}", "score": n % 5 / 4} for n in range(60)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (session.observer.folder / "pairs.jsonl").write_text(text, encoding="utf-8")
    session.reply("train embeddings on pairs.jsonl with bge-m3 on a 4090")
    assert isinstance(session.step, Question)
    (qlora,) = [each for each in session.step.withheld if each.label == "qlora"]
    assert qlora.refused is not None
    assert qlora.refused.code == "FTC573"


@pytest.mark.parametrize("gpu", [[], {}, 5, True, [["RTX-4090"]]])
def test_a_draft_of_wrong_types_is_asked_about(folder: Path, gpu: object) -> None:
    """A spec that is opened may hold anything; a file beside it too."""
    (folder / "deep.jsonl").write_text('{"messages": ' + "[" * 20_000, encoding="utf-8")
    draft = read_draft({"model": "Qwen/Qwen2.5-0.5B-Instruct", "hardware": gpu})
    session = Session(observer=Observer(folder=folder), voice=Voice(language="en"), draft=draft)
    session.start()
    assert session.step is not None


def test_a_small_model_for_labels_begins_with_the_quickest(session: Session) -> None:
    """The suggestion is as small as the sentence about labels says, also after that wish."""
    reply = "\n".join(
        line.text for line in session.reply("a small model that classifies tickets.csv, a 4090")
    )
    assert "a small model is enough" in reply
    first = session.options[0]
    assert "quickest" in first.told[1][0]
    sized = [find_model(each.label) for each in session.options]
    assert sized[0] is not None
    assert sized[0].shape.parameters == min(each.shape.parameters for each in sized if each)


def test_a_large_model_is_not_called_needless(session: Session) -> None:
    """Who asks for a large one reads nothing about small ones."""
    session.reply("tickets.csv, a 4090")
    reply = "\n".join(line.text for line in session.reply("a model of at least 7B"))
    assert "a small model is enough" not in reply


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "the 1B one please, but is the licence ok for commercial use?"),
        ("en", "the 1.2B one, is it free for commercial use?"),
        ("ca", "la primera, però la llicència serveix per a ús comercial?"),
        ("es", "la primera, por favor. ¿La licencia permite el uso comercial?"),
    ],
)
def test_a_choice_with_a_question_is_taken_and_answered(
    folder: Path, language: Language, text: str
) -> None:
    """The model is set, and the answer is about its licence."""
    session = Session(observer=Observer(folder=folder), voice=Voice(language=language))
    session.start()
    session.reply("tickets.csv, a 4090")
    reply = "\n".join(line.text for line in session.reply(text))
    assert session.draft.get("/model/id") == "meta-llama/Llama-3.2-1B-Instruct"
    assert "llama3.2" in reply
    assert not isinstance(session.step, Question) or session.step.pointer != "/model/id"
