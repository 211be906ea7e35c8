"""Typed commands that do what buttons and keys do: run, rehearse, watch, fix a finding."""

from pathlib import Path
from typing import Any

import pytest

from ftc.tui.bundle import launching
from ftc.tui.bundle.actions import ACT_KEYS
from ftc.tui.front_ends.app import Assistant
from ftc.tui.session.opening import make_session
from ftc.tui.session.session import Session
from ftc.tui.understanding.reader import read
from ftc.tui.watch.screen import WatchScreen
from ftc.tui.widgets.bundle import BundleScreen
from ftc.tui.widgets.log import LogScreen
from tests.tui.front_ends.stage import play, say

EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"
SAID: dict[str, tuple[str, ...]] = {
    "run": (
        "run it", "Run it, please", "start the training", "train it now", "ok, run it",
        "executa-ho", "Engega-ho!", "comen\u00e7a l'entrenament", "posa-ho en marxa",
        "ejec\u00fatalo", "l\u00e1nzalo", "empieza el entrenamiento",
    ),
    "rehearse": (
        "rehearse", "do a rehearsal", "try it first", "assaja-ho", "fes un assaig",
        "prova-ho abans", "ens\u00e1yalo", "haz un ensayo", "pru\u00e9balo primero",
    ),
    "watch": (
        "watch", "watch the run", "follow it", "how is the training going?", "segueix-ho",
        "com va l'entrenament?", "s\u00edguelo", "\u00bfc\u00f3mo va el entrenamiento?",
    ),
    "fix": (
        "fix it", "apply the fix", "fix FTC302", "arregla-ho", "corregeix l'error",
        "aplica la correcci\u00f3", "arr\u00e9glalo", "corr\u00edgelo", "aplica el arreglo",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in SAID.items() for text in texts]
)
def test_an_act_is_read(kind: str, text: str) -> None:
    """In the three languages, and polite."""
    request = read(text, {}).request
    assert request is not None
    assert request.kind == kind
    assert request.about == ("FTC302" if "302" in text else "")


@pytest.mark.parametrize(
    "text",
    ["run it on my 4090", "does it run on a mac?", "fix the seed", "watch out for overfitting"],
)
def test_other_sentences_are_no_acts(text: str) -> None:
    """A fragment of a sentence starts no process."""
    request = read(text, {}).request
    assert request is None or request.kind not in SAID


def test_without_a_bundle_nothing_is_started(session: Session) -> None:
    """The reply says what is missing, and asks the open question again."""
    for text in ("run it", "rehearse it", "watch it"):
        first, *rest = session.reply(text)
        assert first.text == "There is no bundle yet: `compile` (F9) writes it."
        assert rest[-1].kind == "question"
        assert session.launched is None


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the start of processes by a list of their names; no package is missing."""
    names: list[str] = []

    def note(name: str, pid: int) -> Any:
        def start(*_: object) -> int:
            names.append(name)
            return pid

        return start

    monkeypatch.setattr(launching, "start_run", note("run", 4711))
    monkeypatch.setattr(launching, "start_rehearsal", note("rehearse", 4712))
    monkeypatch.setattr(launching, "find_missing", lambda _: ())
    return names


def test_a_typed_act_is_the_buttons(session: Session, started: list[str]) -> None:
    """The bundle of the present settings is run and rehearsed; another one is not."""
    for text in (EVERYTHING, "lora", "triage", "compile"):
        session.reply(text)
    assert session.reply("run it")[0].text.startswith("Started as process 4711.")
    assert session.launched is not None
    assert session.launched.follows
    assert "process 4712" in session.reply("rehearse it")[0].text
    assert started == ["run", "rehearse"]
    assert session.reply("watch it")[0].text.startswith("triage")
    session.reply("rank 8")
    assert session.launched is None
    assert "The settings changed" in session.reply("run it")[0].text
    assert started == ["run", "rehearse"]


def test_a_fix_is_applied_by_a_message(session: Session) -> None:
    """The same as F8: one that may change the result is proposed; without a fix it says so."""
    assert "No finding has a fix" in session.reply("fix it")[0].text
    session.reply(EVERYTHING)
    session.reply("full fine-tuning")
    before = session.draft
    lines = session.reply("fix it")
    if session.proposal:
        assert lines[-1].kind == "proposal"
        lines = session.reply("yes")
    assert session.draft != before
    found = session.situation.findings
    assert session.reply("undo")
    typed = session.reply(session.voice.say("fix.says", code=found[0].code)) if found else ()
    assert not any("I did not understand" in line.text for line in typed)


@pytest.mark.prove
def test_a_typed_act_opens_its_screen(
    folder: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen of the bundle is below it, and says what was started."""
    monkeypatch.chdir(folder)
    screens = {"run": WatchScreen, "watch": WatchScreen, "rehearse": LogScreen}

    async def part(app: Assistant, pilot: Any) -> None:
        await say(app, pilot, EVERYTHING, "lora", "triage", "compile")
        for act in ACT_KEYS:
            assert isinstance(app.screen, BundleScreen)
            await pilot.press("escape")
            await say(app, pilot, act)
            assert type(app.screen) is screens[act]
            await pilot.press("q")

    play(make_session(Path(), language="en", spec=None), part)
    assert started == ["run", "rehearse"]
