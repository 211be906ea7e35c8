"""A failed Hub lookup is repeated only when the user asks for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ftc.tui.languages.voice import LANGUAGES, Language, Voice
from ftc.tui.questions.dialogue import Question
from ftc.tui.session.session import Session
from ftc.tui.state.situation import Observer
from tests.compiler.resolve.local_hub import LocalHub, serve
from tests.tiny_models import write_model

TINY = "owner/tiny"
KNOWN = "Qwen/Qwen2.5-0.5B-Instruct"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[LocalHub]:
    """Run a local hub that rejects everything, with an empty cache."""
    monkeypatch.setenv("HF_HOME", str(folder.parent / "hf"))
    for name in ("HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with serve() as served:
        monkeypatch.setenv("HF_ENDPOINT", served.endpoint)
        write_model(folder.parent / "tiny")
        files = {path.name: path.read_bytes() for path in (folder.parent / "tiny").iterdir()}
        for name in (TINY, KNOWN):
            served.add(f"models/{name}", files)
        served.failing = 503
        yield served


def begin(folder: Path, language: Language = "en") -> Session:
    """Return a session that asks the hub."""
    talk = Session(observer=Observer(folder=folder), voice=Voice(language=language))
    talk.start()
    return talk


def origin(talk: Session) -> tuple[str, bool]:
    """Return the origin of the model's facts, and whether the data's lengths are estimates."""
    model, data = talk.situation.model, talk.situation.data
    assert model is not None
    assert data is not None
    return model.origin, data.lengths.estimate


def test_a_silent_hub_is_not_asked_at_every_message(folder: Path, hub: LocalHub) -> None:
    """A failed lookup is not repeated for other messages."""
    talk = begin(folder)
    talk.reply(f"{TINY} on tickets.csv, a 4090")
    count = len(hub.requests)
    assert count
    assert talk.situation.model is None
    for text in ("3 epochs", "call it triage", "why?"):
        talk.reply(text)
    assert len(hub.requests) == count


def test_the_answer_on_offer_asks_again(folder: Path, hub: LocalHub) -> None:
    """It is the first answer; once the hub responds, the model is known."""
    talk = begin(folder)
    talk.reply(f"{TINY} on tickets.csv, a 4090")
    assert isinstance(talk.step, Question)
    assert talk.step.trouble is not None
    assert talk.label(talk.options[0]) == f"Look up {TINY} again"
    talk.reply("1")
    assert talk.situation.model is None
    hub.failing = 0
    told = [line.text for line in talk.reply("1")]
    assert talk.situation.model is not None
    assert talk.situation.model.origin == "hub"
    assert talk.situation.plan is not None
    assert told[0] == f"Noted: model.id = {TINY}."


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "try again"), ("ca", "torna-ho a provar"), ("es", "inténtalo de nuevo")],
)
def test_saying_so_asks_again(folder: Path, hub: LocalHub, language: Language, text: str) -> None:
    """In three languages; the result is shown."""
    talk = begin(folder, language)
    talk.reply(f"{TINY} on tickets.csv, a 4090")
    hub.failing = 0
    told = "\n".join(line.text for line in talk.reply(text))
    assert talk.situation.model is not None
    assert f"{TINY}: " in told
    assert set(LANGUAGES) == {"en", "ca", "es"}


def test_facts_of_the_table_give_way_to_the_hub(folder: Path, hub: LocalHub) -> None:
    """A well-known model is planned from the table at first, and from its files after a retry."""
    talk = begin(folder)
    talk.reply(f"{KNOWN} on tickets.csv, a 4090")
    assert origin(talk) == ("table", True)
    hub.failing = 0
    talk.reply("again")
    assert origin(talk) == ("hub", False)


def test_saying_the_model_again_asks_again(folder: Path, hub: LocalHub) -> None:
    """Entering the same name again repeats the lookup."""
    talk = begin(folder)
    talk.reply(f"{TINY} on tickets.csv, a 4090")
    hub.failing = 0
    talk.reply(TINY)
    assert talk.situation.model is not None
