"""The card of a message: what was understood, what is unsure, what was not used."""

from rich.text import Text
from textual.widgets import Static

from ftc.tui.line import Row
from ftc.tui.voice import Voice

_MARKS = {"set": "\u2713", "unsure": "?", "unused": "\u00b7"}
_STYLES = {"set": "bold", "unsure": "italic", "unused": "dim"}


class Card(Static):
    """A block with a row for each part of a message, and the key that undoes its changes."""

    def __init__(self, rows: tuple[Row, ...], voice: Voice) -> None:
        text = Text("\n").join(_row(row, voice) for row in rows)
        super().__init__(text, markup=False, classes="line ftc card")
        self.border_title = voice.say("card.title")
        self.border_subtitle = voice.say("card.undo")


def _row(row: Row, voice: Voice) -> Text:
    """Return a row as text: its mark, what it is about, and the words behind it."""
    kind, what, words = row
    shown = voice.say("card.words", words=words)
    told = voice.say(f"card.{kind}", what=what, words=shown)
    return Text.assemble(f"{_MARKS[kind]} ", (told, _STYLES[kind]))
