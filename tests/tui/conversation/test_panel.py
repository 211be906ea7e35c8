"""Compiling with one answer left, and the reasons of a question."""

from ftc.compiler.write.lock import LOCK_NAME
from ftc.tui.session.session import Session
from ftc.tui.state.draft import read_draft
from tests.tui.conftest import SPEC


def said(session: Session, text: str) -> str:
    """Return the text of a reply."""
    return "\n".join(line.text for line in session.reply(text))


def test_compile_takes_the_only_answer(session: Session) -> None:
    """With only the name open, it is chosen and the bundle is written; folders are one line."""
    draft = {key: value for key, value in SPEC.items() if key != "name"}
    session.go_to(read_draft({**draft, "model": "Qwen/Qwen3-0.6B"}))
    reply = said(session, "compile")
    assert session.draft.get("/name") == "tickets"
    assert session.finished is not None
    assert "I chose name = tickets" in reply
    assert LOCK_NAME in session.finished.files
    assert f"  {LOCK_NAME}\n" in reply
    assert "runtime/__init__.py" not in reply
    held = sum(name.startswith("runtime/") for name in session.finished.files)
    assert f"runtime/ ({held} files)" in reply


def test_why_repeats_nothing(session: Session) -> None:
    """The reason of the question is said once, and that of the suggested answer beside it."""
    session.reply("tickets.csv, a 4090, qwen3 0.6b")
    reply = said(session, "why?")
    assert reply.count(session.voice.why("/method/type")) == 1
    assert "I suggest lora" in reply
