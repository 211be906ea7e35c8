"""An order not to switch on what is off changes nothing and gets an answer."""

from pathlib import Path

import pytest

from ftc.tui.languages.voice import Language, Voice
from ftc.tui.session.exchange import describe
from ftc.tui.session.session import Session
from ftc.tui.state.draft import read_draft
from ftc.tui.state.situation import Observer
from tests.tui.understanding.test_annotated import BASE


@pytest.mark.parametrize(
    ("language", "text", "answer"),
    [
        ("en", "please don't enable dora", "method.dora is off and stays off."),
        ("ca", "no activis el streaming", "data.streaming està desactivat i ho continua estant."),
        ("es", "no enciendas rslora", "method.rslora está desactivado y sigue así."),
        ("en", "don't upload it anywhere, not even privately", "Nothing is published."),
    ],
)
def test_what_is_off_stays_off(folder: Path, language: Language, text: str, answer: str) -> None:
    """The reply says so, in the language of the message; the draft is as before."""
    session = Session(
        observer=Observer(folder=folder), voice=Voice(language=language), draft=read_draft(BASE)
    )
    session.start()
    before = session.draft
    lines = session.reply(text)
    assert answer in [line.text for line in lines]
    assert session.draft == before
    assert describe(session, text, before, lines)["applied"] == []
