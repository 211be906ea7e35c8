"""Whole conversations without a screen: from messages to the draft and the bundle."""

import json
from pathlib import Path

import pytest

from ftc.spec.validate import to_spec
from ftc.tui.languages.voice import LANGUAGES, Language, Voice
from ftc.tui.questions.dialogue import Done, Question, asked_pointers
from ftc.tui.session.session import Session
from ftc.tui.state.draft import Draft, written
from ftc.tui.state.saved_state import Kept, find_kept, keep

EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"


def asked(session: Session) -> str | None:
    """Return the field of the current question."""
    return session.step.pointer if isinstance(session.step, Question) else None


def spec(session: Session) -> dict[str, object]:
    """Return the spec so far."""
    return dict(written(session.draft))


def test_one_sentence_leaves_two_questions(session: Session) -> None:
    """Fields that a sentence sets are not asked."""
    session.reply(EVERYTHING)
    assert asked(session) == "/method/type"
    session.reply("lora")
    assert asked(session) == "/name"
    session.reply("triage")
    assert isinstance(session.step, Done)
    assert spec(session) == {
        "name": "triage",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "data": "tickets.csv",
        "method": "lora",
        "hardware": "RTX-4090",
        "export": ["Q4_K_M"],
    }


def test_an_ordinary_case_answers_at_most_six_questions(session: Session) -> None:
    """One answer each, in the schema's order, and every option offered is a valid spec.

    The goal comes first; data that is named answers it, because its columns show the goal.
    """
    assert asked(session) == "/objective/type"
    answers = ["tickets.csv", "a 4090", "qwen3 4b", "lora", "Q4_K_M", "triage"]
    for count, answer in enumerate(answers, start=1):
        if count > 1:
            assert asked(session) == asked_pointers()[count - 1]
        for option in session.options:
            tried = written(session.draft.changed(option.changes))
            to_spec({"name": "a", "model": "b", "data": "c", **tried})
        session.reply(answer)
    assert isinstance(session.step, Done)


def test_each_answer_says_what_it_leads_to(session: Session) -> None:
    """The methods come with the planner's own figures."""
    lines = session.reply(EVERYTHING)
    told = {option.label: session.consequence(option) for option in session.options}
    assert told["lora"].startswith("fits with ")
    assert "full" not in told
    assert "\n  full: does not fit: " in lines[-2].text
    assert session.options[0].plan is not None


def test_not_knowing_takes_the_first_that_fits_and_says_why(session: Session) -> None:
    """The choice is marked as ftc's."""
    session.reply(EVERYTHING)
    lines = session.reply("I don't know")
    assert lines[0].text.startswith("I chose method.type = ")
    assert any(line.text.startswith("Reason: fits") for line in lines)
    assert "/method/type" in session.draft.chosen


def test_a_correction_changes_the_count_alone(session: Session) -> None:
    """The sentence "no, two of them" refers to the GPUs."""
    session.reply(EVERYTHING)
    session.reply("no, two of them")
    assert spec(session)["hardware"] == "2x RTX-4090"


def test_undo_and_redo_walk_the_drafts(session: Session) -> None:
    """Each undo can be redone, until another change is made."""
    session.reply("tickets.csv")
    session.reply("3 epochs")
    session.reply("undo")
    assert "training" not in spec(session)
    session.reply("redo")
    assert spec(session)["training"] == {"epochs": 3}
    session.reply("undo")
    session.reply("5 epochs")
    assert session.reply("redo")[0].text == "There is nothing to redo."


def test_starting_again_can_be_undone(session: Session) -> None:
    """Undo restores the old draft."""
    session.reply(EVERYTHING)
    before = spec(session)
    session.reply("start again")
    assert spec(session) == {}
    session.reply("undo")
    assert spec(session) == before


def test_a_file_that_is_not_there_is_asked_for_again(session: Session) -> None:
    """The finding is shown above the question."""
    lines = session.reply("nowhere.csv")
    assert lines[1].kind == "trouble"
    assert "nowhere.csv" in lines[1].text
    assert asked(session) == "/data/source"


def test_columns_that_show_nothing_are_asked_for(session: Session) -> None:
    """The file's columns are the answers, each once; then the conversation continues."""
    rows = "".join(f"{n},{n % 3},x\n" for n in range(40))
    (session.observer.folder / "odd.csv").write_text(f"foo,bar,baz\n{rows}", encoding="utf-8")
    session.reply("odd.csv")
    assert asked(session) == "/data/columns/prompt"
    assert [option.label for option in session.options] == ["foo", "bar", "baz"]
    session.reply("1")
    assert asked(session) == "/data/columns/completion"
    assert [option.label for option in session.options] == ["bar", "baz"]
    session.reply("baz")
    assert asked(session) == "/hardware/gpu"
    assert spec(session)["data"] == {
        "source": "odd.csv",
        "columns": {"prompt": "foo", "completion": "baz"},
    }


def test_what_would_fit_is_offered(session: Session) -> None:
    """If the given method does not fit: only changes and machines that fit are offered."""
    session.reply("mistral 7b, tickets.csv, 2x A100-80GB, full fine-tune with zero2, no gguf")
    assert "FTC420" in {finding.code for finding in session.situation.findings}
    assert len(session.options) >= 3
    assert all(option.plan and option.plan.memory.fits for option in session.options)
    assert session.ask()[-1].text.startswith("Which of these changes do you want, ")
    session.reply("1")
    assert session.situation.plan is not None
    assert session.situation.plan.memory.fits


def test_a_greeting_is_no_data(session: Session) -> None:
    """A folder named like a file is not offered."""
    (session.observer.folder / "folder.csv").mkdir()
    assert session.reply("hello")[0].text.startswith("Tell me in your own words")
    assert spec(session) == {}
    session.reply("3 epochs")
    assert [option.label for option in session.options] == ["tickets.csv"]


def test_several_models_that_fit_the_words_are_offered(session: Session) -> None:
    """The user chooses by number."""
    session.reply("llama 3.1")
    assert [option.label for option in session.options] == [
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Llama-3.1-70B-Instruct",
        "meta-llama/Llama-3.1-405B-Instruct",
    ]
    session.reply("1")
    assert spec(session)["model"] == "meta-llama/Llama-3.1-8B-Instruct"


def test_what_if_changes_nothing_until_it_is_taken(session: Session) -> None:
    """Both plans are shown, and a yes applies the change."""
    session.reply(EVERYTHING)
    before = spec(session)
    lines = session.reply("what if I had two A100s with 80GB")
    assert spec(session) == before
    assert lines[0].text.startswith("Currently: ")
    session.reply("yes")
    assert spec(session)["hardware"] == "2x A100-SXM4-80GB"


def test_making_it_fit_offers_only_what_fits(session: Session) -> None:
    """Every offer is below the given size."""
    session.reply(EVERYTHING)
    session.reply("lora")
    session.reply("make it fit in 12 GB")
    plans = [option.plan for option in session.options]
    assert plans
    assert all(plan is not None and plan.memory.device_bytes <= 12 * 2**30 for plan in plans)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("what is ZeRO-3", "ZeRO-3 (DeepSpeed) shards the weights"),
        ("why bf16", "The plan uses precision = bf16"),
        ("why not full fine-tuning", "With method.type = full: does not fit"),
        ("FTC220", "FTC220 ("),
        ("what is the learning rate", "The learning rate is how far"),
        ("what is a flumph", "I have no page about"),
    ],
)
def test_it_explains(session: Session, question: str, told: str) -> None:
    """From the glossary, the plan and the pages of findings."""
    session.reply(EVERYTHING)
    assert any(told in line.text for line in session.reply(question))


def test_the_conversation_ends_in_a_bundle(session: Session, folder: Path) -> None:
    """The saved spec is the draft, and the bundle exists."""
    session.reply(EVERYTHING)
    session.reply("qlora")
    session.reply("call it triage")
    lines = session.reply("compile")
    assert session.finished is not None
    assert json.loads((folder / "spec.json").read_text(encoding="utf-8")) == spec(session)
    assert (folder / "triage" / "run.sh").is_file()
    said = lines[-1].text
    assert said.startswith("First, once, in the folder ")
    assert said.index("pip install") < said.index("\nNext: cd ")


def test_compiling_too_soon_asks_on(session: Session, folder: Path) -> None:
    """Nothing is written while a question is open."""
    session.reply("tickets.csv")
    assert session.reply("compile")[0].text == "Please answer this first."
    assert not (folder / "spec.json").exists()


def test_a_spec_of_somebody_else_is_left_alone(session: Session, folder: Path) -> None:
    """The draft is saved beside it, under the run's name."""
    (folder / "spec.json").write_text("{}", encoding="utf-8")
    session.reply(EVERYTHING)
    session.reply("lora")
    session.reply("triage")
    session.reply("save")
    assert (folder / "spec.json").read_text(encoding="utf-8") == "{}"
    assert json.loads((folder / "triage.json").read_text(encoding="utf-8")) == spec(session)


def test_a_spec_is_loaded_to_be_changed(session: Session, folder: Path) -> None:
    """Its own file is overwritten."""
    old = {"name": "a", "model": "Qwen/Qwen3-0.6B", "data": "tickets.csv", "hardware": "cpu"}
    (folder / "old.json").write_text(json.dumps(old), encoding="utf-8")
    session.reply("load old.json")
    session.reply("call it b")
    session.reply("save")
    saved = json.loads((folder / "old.json").read_text(encoding="utf-8"))
    assert saved == {**old, "name": "b"}


def test_a_draft_is_kept_and_offered_again(folder: Path, session: Session) -> None:
    """Quitting loses nothing."""
    session.reply("tickets.csv")
    keep(folder, Kept(draft=session.draft, transcript=tuple(session.transcript)))
    kept = find_kept(folder)
    assert kept is not None
    again = Session(observer=session.observer, voice=session.voice, kept=kept.draft)
    told, asked = again.start()[-2:]
    assert told.text == "There is a draft from last time:\n  Data  tickets.csv"
    assert asked.text == "Continue with it? (yes or no)"
    again.reply("yes")
    assert spec(again) == {"data": "tickets.csv"}


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        ("ca", ["Dades          tickets.csv", "Rang de LoRA   16"]),
        ("es", ["Datos          tickets.csv", "Rango de LoRA  16"]),
    ],
)
def test_a_kept_draft_is_summed_up_in_the_users_language(
    session: Session, language: Language, lines: list[str]
) -> None:
    """By the names of the fields, without JSON."""
    session.reply(EVERYTHING)
    session.reply("lora, rank 16")
    again = Session(observer=session.observer, voice=Voice(language=language), kept=session.draft)
    told = again.start()[-2].text
    assert "{" not in told
    for line in lines:
        assert f"\n  {line}\n" in told, told


@pytest.mark.parametrize(
    "text",
    [
        "what is LoRA?",
        "how long will it take?",
        "my cat sleeps on the keyboard",
        "que es un epoch?",
        "quant costa una H100?",
        "el meu gat dorm",
    ],
)
def test_an_offered_draft_stays_on_offer(session: Session, text: str) -> None:
    """A question or a remark sets nothing, so the draft can still be continued."""
    session.reply("tickets.csv")
    again = Session(observer=session.observer, voice=session.voice, kept=session.draft)
    again.start()
    assert again.reply(text)[-1].text == "Continue with it? (yes or no)"
    again.reply("yes")
    assert spec(again) == {"data": "tickets.csv"}


def test_a_change_goes_on_with_an_offered_draft(session: Session) -> None:
    """It is a change of that draft, and so is an order to compile."""
    session.reply("tickets.csv")
    again = Session(observer=session.observer, voice=session.voice, kept=session.draft)
    again.start()
    lines = again.reply("use qwen3 4b")
    assert lines[0].text == "I go on with the draft from last time."
    assert again.kept is None
    assert spec(again) == {"data": "tickets.csv", "model": "Qwen/Qwen3-4B"}
    again.reply("undo")
    assert spec(again) == {"data": "tickets.csv"}


@pytest.mark.parametrize("text", ["other.csv with llama 3.2 1b", "I want to sort mail into labels"])
def test_another_fine_tune_ends_the_offer_of_a_draft(session: Session, text: str) -> None:
    """Other data or a goal begin a new draft, and `undo` leads back."""
    session.reply("tickets.csv, rank 8")
    again = Session(observer=session.observer, voice=session.voice, kept=session.draft)
    again.start()
    assert "`undo` goes back" in again.reply(text)[0].text
    assert again.draft.get("/method/rank") is None
    assert again.kept is None


@pytest.mark.parametrize(
    "text",
    [
        "only the Q6_K, the Q4 can go",
        "lleva-li el Q4_K_M i posa-hi un Q6_K",
        "apaga el wandb",
        "add a Q8_0 too",
        "treu el warmup",
        "quita el Q4_K_M",
        "just Q8_0",
        "turn off wandb",
    ],
)
def test_words_that_say_what_becomes_of_a_value_are_used(session: Session, text: str) -> None:
    """They are not named among the words that had no effect."""
    session.reply("tickets.csv, qwen3 4b, a 4090, q4_k_m, wandb, warmup 0.1")
    lines = session.reply(text)
    assert [line.text for line in lines if line.kind == "noted"]
    assert not [line.text for line in lines if line.kind == "unused"]


def test_an_empty_draft_is_not_kept(folder: Path) -> None:
    """An unreadable state is ignored."""
    keep(folder, Kept(draft=Draft(), transcript=()))
    assert find_kept(folder) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_leads_to_the_same_spec(session: Session, language: str) -> None:
    """All three languages are understood in every language."""
    session.voice = Voice(language=language)  # type: ignore[arg-type]  # one of LANGUAGES
    session.reply("qwen3 4b, tickets.csv, una 4090, gguf q4, sense early stopping")
    session.reply("lora")
    session.reply("triage")
    assert isinstance(session.step, Done)


def test_a_value_that_no_field_takes_is_said_and_left_out(session: Session) -> None:
    """The rest of the sentence is applied."""
    lines = session.reply("dropout 5 and 3 epochs")
    assert lines[0].kind == "trouble"
    assert "`method.dropout` cannot be `5`" in lines[0].text
    assert spec(session) == {"training": {"epochs": 3}}


def test_a_part_of_a_section_may_be_said_before_its_name(session: Session) -> None:
    """A length before the data, or a revision before the model, is not an error."""
    lines = session.reply("max length 2048")
    assert [line.kind for line in lines] == ["noted", "question"]
    assert spec(session) == {"data": {"max_length": 2048}}
    session.reply("tickets.csv")
    assert spec(session) == {"data": {"max_length": 2048, "source": "tickets.csv"}}


def test_a_length_in_steps_takes_the_place_of_epochs(session: Session) -> None:
    """The later of two conflicting values is used."""
    session.reply("3 epochs")
    session.reply("stop at 500 steps")
    assert spec(session) == {"training": {"max_steps": 500}}


@pytest.mark.parametrize("question", ["the difference between LoRA and QLoRA", "lora vs qlora"])
def test_two_things_are_explained_at_once(session: Session, question: str) -> None:
    """Both pages, one after the other."""
    texts = [line.text for line in session.reply(f"what is {question}")]
    assert [text.partition(":")[0] for text in texts[:-1]] == ["LoRA", "QLoRA"]
    assert texts[-1].startswith("What should the model learn to do?")


def test_two_changes_are_undone_at_once(session: Session) -> None:
    """The message says how many."""
    session.reply("rank 8")
    before = session.draft
    session.reply("3 epochs")
    session.reply("seed 5")
    session.reply("go two changes back")
    assert session.draft == before


def test_a_later_fine_tune_gets_its_own_spec(session: Session) -> None:
    """It starts from the first one's bundle; an existing file is not overwritten."""
    session.reply(f"{EVERYTHING}, lora, call it triage")
    before = session.draft
    folder = session.observer.folder
    for name in ("triage-dpo.json", "triage-dpo-2.json"):
        session.reply("dpo on prefs.jsonl after that")
        second = json.loads((folder / name).read_text(encoding="utf-8"))
        assert (second["model"], second["data"]) == ("./triage", "prefs.jsonl")
        assert second["objective"] == "dpo"
    assert session.draft == before


def test_bits_answer_the_question_about_files(session: Session) -> None:
    """A width alone names a GGUF type where files are asked about, not a 4-bit base."""
    session.reply("qwen 2.5 7b on a 4090, tickets.csv, lora")
    assert asked(session) == "/export/types"
    session.reply("4 bits please")
    assert (spec(session)["export"], spec(session)["method"]) == (["Q4_K_M"], "lora")


def test_talk_does_not_answer_a_question_about_a_column(session: Session) -> None:
    """A sentence is no column, nor is a name that the file lacks; a column of the file is."""
    session.reply("qwen 2.5 7b on a 4090, tickets.csv, dpo")
    assert (asked(session) or "").startswith("/data/columns/")
    for said in ("hmm, not sure about that", "message"):
        session.reply(said)
        assert spec(session)["data"] == "tickets.csv"
    session.reply("text")
    assert spec(session)["data"] == {"source": "tickets.csv", "columns": {"prompt": "text"}}


def test_a_price_in_a_question_is_tried_and_not_set(session: Session) -> None:
    """The cost at that price is told, in any of the languages."""
    session.reply("qwen 2.5 7b on a 4090, tickets.csv, lora")
    for text in (
        "what would it cost at $2 an hour?",
        "\u00bfcu\u00e1nto costar\u00eda a 2 euros la hora?",
    ):
        lines = session.reply(text)
        assert any("in the currency of your price" in line.text for line in lines)
    assert spec(session)["hardware"] == "RTX-4090"


@pytest.mark.parametrize(
    ("text", "pointer", "value"),
    [
        ("give me two GGUFs, 4 bit and 8 bit", "export", ["Q4_K_M", "Q8_0"]),
        ("exporta a GGUF de 4 y de 5 bits", "export", ["Q4_K_M", "Q5_K_M"]),
        ("quita el de 8 bits", "export", []),
        ("no 4 bits", "method", "lora"),
        ("make that two A100s", "hardware", "2x A100-SXM4-80GB"),
        ("I want to run the result on my old laptop without a GPU", "hardware", "A100-SXM4-80GB"),
        (
            "el vull provar en un port\u00e0til sense targeta gr\u00e0fica",
            "hardware",
            "A100-SXM4-80GB",
        ),
        ("the GGUF should be more accurate than Q4", "export", ["Q8_0"]),
        ("quiero usarlo luego en mi port\u00e1til con Ollama", "export", ["Q8_0"]),
        ("que pare si no mejora en dos evaluaciones", "training", {"early_stopping": 2}),
    ],
)
def test_what_a_message_is_not_about_stays(
    session: Session, text: str, pointer: str, value: object
) -> None:
    """Widths are of files, the user's machine is not the training's, a chip keeps its size."""
    session.reply("data tickets.csv, model qwen 2.5 7b, A100 80GB, lora, call it x, gguf q8_0")
    session.reply(text)
    assert spec(session).get(pointer) == value


def test_a_request_may_have_a_slash(session: Session) -> None:
    """Other chats' commands have one; such a message does not answer an open question."""
    session.reply("/undo")
    assert session.draft == Draft()
    assert session.options
    assert session.reply("/quit")[-1].text.startswith("Goodbye.")
    assert not session.options
