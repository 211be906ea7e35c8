"""What a message says beside values: limits, wishes about the model, goals, its language."""

from pathlib import Path

import pytest

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.tui.languages.spoken import find_spoken
from ftc.tui.languages.voice import Voice, read_catalogue
from ftc.tui.session.exchange import describe
from ftc.tui.session.session import Session
from ftc.tui.state.situation import Observer
from ftc.tui.understanding.machines.instances import read_instances
from ftc.tui.understanding.models.model_wishes import meets
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import ModelWish
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.word_tables import word_table


@pytest.fixture
def session(whole: Session) -> Session:
    """Return a session about a whole spec."""
    return whole


@pytest.mark.parametrize(
    ("said", "name", "is_met"),
    [
        ("don't use qwen", "Qwen/Qwen3-4B", False),
        ("don't use qwen", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", False),
        ("don't use qwen", "microsoft/phi-4", True),
        ("something under 3B", "Qwen/Qwen3-4B", False),
        ("something under 1B", "google/gemma-3-1b-it", False),
        ("at most 1B", "google/gemma-3-1b-it", True),
        ("un model de menys d'1B", "google/gemma-3-1b-it", False),
        ("something under 2B, apache", "google/gemma-3-1b-it", False),
        ("something under 2B, apache", "Qwen/Qwen3-0.6B", True),
        ("menos de 2B y apache", "meta-llama/Llama-3.2-1B-Instruct", False),
        ("nothing above 8B", "microsoft/phi-4", False),
        ("que no sea china", "Qwen/Qwen3-4B", False),
        ("un model europeu", "Qwen/Qwen3-4B", False),
        ("un model europeu", "utter-project/EuroLLM-1.7B-Instruct", True),
        ("a model from Mistral", "mistralai/Mistral-7B-Instruct-v0.3", True),
        ("a model from Mistral", "google/gemma-2-9b-it", False),
        ("un modelo que hable catalán", "microsoft/phi-4", False),
    ],
)
def test_a_wish_chooses_among_models(said: str, name: str, *, is_met: bool) -> None:
    """Size, maker, origin and language are read in three languages."""
    choice = read(said, {}).asked
    model = find_model(name)
    assert choice is not None
    assert choice.wish is not None
    assert model is not None
    assert meets(choice.wish, model) is is_met


def test_a_wish_lasts(session: Session) -> None:
    """Models that were refused are not offered later; the draft does not change by a wish."""
    session.reply("don't use qwen")
    assert session.draft.get("/model/id") == "Qwen/Qwen2.5-7B-Instruct"
    session.reply("which model do you recommend?")
    labels = [option.label for option in session.options]
    assert labels
    assert not any("qwen" in label.casefold() for label in labels)


def test_both_wishes_count() -> None:
    """A later size replaces an earlier one; refused makers add up."""
    joined = ModelWish(most=8, without=("Qwen",)).joined(ModelWish(most=3, without=("google",)))
    assert joined == ModelWish(most=3, without=("Qwen", "google"))


@pytest.mark.parametrize(
    "said", ["it must finish in 1 minute", "que acabi en un minut", "que termine en un minuto"]
)
def test_a_limit_of_time_is_compared_with_the_plan(session: Session, said: str) -> None:
    """A plan that takes longer is told, with changes that take less; no field is set."""
    before = session.draft
    lines = session.reply(said)
    assert session.draft == before
    assert session.limit.seconds == 60
    assert read_catalogue("en")["limit.time.over"].partition(" {")[0] in lines[0].text
    assert session.reading.request is not None
    assert session.reading.request.kind == "limit"


def test_a_limit_of_money_asks_for_the_price(session: Session) -> None:
    """The price answers the open question, and the cost is compared at once."""
    session.reply("at most 10 dollars")
    told = "\n".join(line.text for line in session.reply("2"))
    assert session.draft.get("/hardware/price_per_hour") == 2
    assert "less than your limit of 10" in told


def test_an_early_limit_is_compared_later(folder: Path) -> None:
    """Before there is a plan a limit is kept."""
    session = Session(observer=Observer(folder=folder))
    session.start()
    session.reply("it must finish in 2 hours")
    told = session.reply("tickets.csv, qwen 2.5 7b, 4090, lora")
    assert any("your limit of 2 h" in line.text for line in told)


def test_undo_reports_what_it_undoes(session: Session) -> None:
    """The pointers, and the values before and after, are in the record and in the reply."""
    session.reply("rank 32, 5 epochs")
    before = session.draft
    record = describe(session, "undo", before, session.reply("undo"))
    undone = {each["pointer"]: (each["old"], each["new"]) for each in record["applied"]}
    assert undone == {"/method/rank": (32, None), "/training/epochs": (5, None)}
    assert "method.rank" in record["reply"]


def test_changes_since_the_start_are_told(session: Session) -> None:
    """What differs from the first draft, also after an undo."""
    assert "rank" not in session.reply("what did I change?")[0].text
    session.reply("rank 32")
    assert "→ 32" in session.reply("qué he cambiado")[0].text


def test_a_goal_beside_a_file_counts(folder: Path) -> None:
    """The goal is told and its words are used; preferences set the objective."""
    session = Session(observer=Observer(folder=folder))
    session.start()
    before = session.draft
    text = "classify emails from tickets.csv"
    record = describe(session, text, before, session.reply(text))
    assert session.goal == "classify"
    assert [0, 8] not in record["unused"]
    assert "Goal" in record["reply"]
    other = Session(observer=Observer(folder=folder))
    other.start()
    other.reply("we have preferred answers in tickets.csv")
    assert other.draft.get("/objective/type") == "dpo"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("quiero afinar un modelo con mis datos", "es"),
        ("vull afinar un model amb les meves dades", "ca"),
        ("I want to teach it my style", "en"),
        ("llama 3.1 8b qlora 2x3090", None),
        ("que no sea china", None),
        ("Hola, tengo un fichero de tickets y busco un modelo en un portátil", "es"),
        ("no cal que avaluïs res", "ca"),
        ("fes servir gsm8k_train.jsonl i un Qwen3 de 8B en dues 3090", "ca"),
        ("pon el learning rate a la mitad y no toques los epochs", "es"),
        ("train_rows.jsonl", None),
    ],
)
def test_the_language_of_a_message(text: str, language: str | None) -> None:
    """Two function words or spellings of one language tell it; terms in English do not."""
    assert find_spoken(text) == language


def test_replies_follow_the_language_of_two_messages(folder: Path) -> None:
    """Later than the first, one message is not enough; the change is told once; a choice stays."""
    session = Session(observer=Observer(folder=folder), follows=True)
    session.start()
    session.reply("I want to fine-tune it")
    said = ("quiero que hable como un pirata", "tengo los datos en tickets.csv", "pon 3 épocas")
    told = [
        sum(line.text == read_catalogue("es")["language.follows"] for line in session.reply(text))
        for text in said
    ]
    assert told == [0, 1, 0]
    assert session.voice == Voice(language="es")
    opened = Session(observer=Observer(folder=folder), follows=True)
    opened.start()
    opened.reply(said[0])
    assert opened.voice == Voice(language="es")
    fixed = Session(observer=Observer(folder=folder))
    fixed.start()
    for text in said:
        fixed.reply(text)
    assert fixed.voice == Voice()


def test_names_with_spaces_are_read_whole(folder: Path) -> None:
    """Files and columns that exist are matched first, the longest first."""
    rows = "".join(f"hello number {n} friend,answer {n} for you,{n}\n" for n in range(60))
    (folder / "my chats.csv").write_text(f"Customer message,Agent reply,id\n{rows}")
    (folder / "chats.csv").write_text(f"a,b,id\n{rows}")
    session = Session(observer=Observer(folder=folder))
    session.start()
    session.reply("les dades són a my chats.csv, la pregunta és la columna Customer message")
    assert session.draft.get("/data/source") == "my chats.csv"
    assert session.draft.get("/data/columns/prompt") == "Customer message"
    session.reply("Agent reply")
    assert session.draft.get("/data/columns/completion") == "Agent reply"


def test_every_instance_has_a_known_gpu() -> None:
    """Each pattern names a GPU of the table; an unknown instance is asked about."""
    for entry in word_table("instances"):
        match = find_accelerator(entry["gpu"])
        assert match is not None
        assert match.accelerator.name == entry["gpu"]
    unknown = list(read_instances(Message("g9.12xlarge")))
    assert [each.pointer for each in unknown] == ["/hardware/gpu"]
