"""Requests and answers as they come in a chat: openings, excuses, and words for what was said."""

from pathlib import Path

import pytest

from ftc.tui.conversation.unused import name_unused
from ftc.tui.languages.voice import Language, Voice
from ftc.tui.session.session import Session
from ftc.tui.state.situation import Observer
from ftc.tui.understanding.reader import read


@pytest.mark.parametrize(
    "text",
    [
        "use less memory",
        "please reduce the memory usage as much as possible",
        "baixa la memòria tant com puguis",
        "fes servir menys memòria",
        "reduce la memoria todo lo que puedas",
        "que gaste menos memoria",
    ],
)
def test_less_memory_is_offered_smallest_first(whole: Session, text: str) -> None:
    """Every offered change needs less memory than the plan."""
    assert whole.situation.plan is not None
    now = whole.situation.plan.memory.device_bytes
    whole.reply(text)
    needs = [each.plan.memory.device_bytes for each in whole.options if each.plan is not None]
    assert needs == sorted(needs)
    assert needs
    assert needs[-1] < now


def test_less_memory_needs_a_plan(session: Session) -> None:
    """Without one, the answer names what is missing."""
    before = session.draft
    assert "use less memory" not in session.reply("use less memory")[0].text
    assert session.draft == before


@pytest.mark.parametrize(
    "text",
    [
        "too slow, can you make it faster?",
        "can you make it train faster",
        "fes que entreni més de pressa",
        "podries fer que vagi més ràpid?",
        "haz que entrene más rápido",
        "demasiado lento, ¿puedes hacerlo más rápido?",
    ],
)
def test_faster_is_a_request(text: str) -> None:
    """A verb between the request and its adverb is no value."""
    reading = read(text, {"model": {"id": "Qwen/Qwen3-4B"}})
    assert reading.request is not None
    assert reading.request.kind == "faster"


@pytest.mark.parametrize(
    "text",
    [
        "undo that last one",
        "I was wrong, put it back as it was",
        "sorry, my mistake, undo it",
        "put the rank back as it was",
        "m'he equivocat, torna-ho a deixar com abans",
        "deixa el rang com estava",
        "me he equivocado, deja el rango como estaba",
        "perdón, me he equivocado, vuelve a dejarlo como antes",
    ],
)
def test_a_mistake_is_undone(whole: Session, text: str) -> None:
    """The words before the request only excuse it."""
    before = whole.draft
    whole.reply("rank 8")
    whole.reply(text)
    assert whole.draft == before


def test_a_named_field_is_undone_alone(whole: Session) -> None:
    """A later change of another field stays, and a field that never changed is left."""
    whole.reply("3 epochs")
    whole.reply("rank 8")
    whole.reply("put the epochs back as they were")
    assert (whole.draft.get("/training/epochs"), whole.draft.get("/method/rank")) == (None, 8)
    before = whole.draft
    whole.reply("undo the learning rate")
    assert whole.draft == before


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "ok, the largest one"),
        ("ca", "d'acord, el més gran"),
        ("es", "vale, el más grande"),
    ],
)
def test_the_largest_is_one_of_the_offered(folder: Path, language: Language, text: str) -> None:
    """An opening before the answer leaves it an answer."""
    begun = Session(observer=Observer(folder=folder), voice=Voice(language=language))
    begun.start()
    begun.reply("tickets.csv, RTX 4090")
    offered = [each.label for each in begun.options]
    begun.reply(text)
    assert begun.draft.get("/model/id") in offered


@pytest.mark.parametrize("text", ["no, millor la 7B", "better the 7b one", "no, mejor el de 7B"])
def test_a_size_selects_an_offered_model(session: Session, text: str) -> None:
    """Two sizes of a model are offered, and one of them is named by its size."""
    session.reply("salamandra")
    assert len(session.options) == 2
    session.reply(text)
    assert session.draft.get("/model/id") == "BSC-LT/salamandra-7b-instruct"


@pytest.mark.parametrize(
    "text", ["mejor uno de Qwen de 7B", "millor un de Qwen de 7B", "rather one from Qwen with 7B"]
)
def test_a_maker_and_a_size_are_one_wish(text: str) -> None:
    """The size after the maker belongs to the wish."""
    asked = read(text, {}).asked
    assert asked is not None
    assert asked.wish is not None
    assert asked.wish.makers == ("Qwen",)
    assert asked.wish.least is not None
    assert asked.wish.most is not None
    assert asked.wish.least < 7_000_000_000 < asked.wish.most


@pytest.mark.parametrize(
    "text",
    [
        "hmm actually my card is the Ti Super with 16 GB",
        "perdona, és la Ti Super",
        "en realidad es la Ti Super de 16 GB",
    ],
)
def test_a_suffix_is_of_the_card_at_hand(text: str) -> None:
    """It selects another card with the number of the draft's."""
    changes = {each.pointer: each.value for each in read(text, _with_card("RTX-4070")).changes}
    assert changes == {"/hardware/gpu": "RTX-4070-Ti-Super"}
    assert not read(text, {}).changes


@pytest.mark.parametrize("text", ["the super fast one", "és la super ràpida", "a ti te digo"])
def test_other_words_are_no_suffix(text: str) -> None:
    """An adjective and a pronoun name no card."""
    assert "/hardware/gpu" not in {each.pointer for each in read(text, _with_card("A100")).changes}
    assert not read(text, _with_card("RTX-4070")).changes


def _with_card(gpu: str) -> dict[str, dict[str, str]]:
    return {"hardware": {"gpu": gpu}}


@pytest.mark.parametrize(
    "text",
    [
        "tinc una gràfica de 24 gigues, crec que una 3090",
        "tengo una gráfica de 24 gigas, creo que una 3090",
        "I have a 24 gig card, I think one 3090",
    ],
)
def test_no_count_is_asked_before_its_card(text: str) -> None:
    """A doubt about a GPU's name is not one about how many there are."""
    reading = read(text, {})
    asked = [each.pointer for each in reading.choices]
    assert asked[:1] != ["/hardware/count"]
    assert "/hardware/gpu" in {*asked, *(each.pointer for each in reading.changes)}


@pytest.mark.parametrize(
    "text",
    [
        "save a checkpoint every 20 steps",
        "desa un checkpoint cada 20 passos",
        "guarda un punto de control cada 20 pasos",
    ],
)
def test_a_checkpoint_is_saved_at_each_evaluation(text: str) -> None:
    """The words that say so are used."""
    reading = read(text, {})
    assert [each.value for each in reading.changes] == [20]
    assert not name_unused(reading, reading.changes, text)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I have a csv with customer tickets"),
        ("ca", "tinc un csv amb tiquets de clients"),
        ("es", "tengo un csv con tickets de clientes"),
    ],
)
def test_a_kind_of_file_leads_to_the_question_about_the_data(
    folder: Path, language: Language, text: str
) -> None:
    """The files are offered, without a question about the word."""
    begun = Session(observer=Observer(folder=folder), voice=Voice(language=language))
    begun.start()
    told = begun.reply(text)[-1].text
    assert told.startswith(begun.voice.ask("/data/source"))
    assert [each.label for each in begun.options] == ["tickets.csv"]
