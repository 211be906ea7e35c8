"""The card of a message: what was understood, what is uncertain, what was not used."""

from typing import Final

from rich.table import Table
from rich.text import Text
from textual.widgets import Static

from ftc.spec.pointer import join
from ftc.tui.languages.field_names import find_asked, name_field
from ftc.tui.languages.voice import Voice
from ftc.tui.state.line import Row

_MARKS: Final = {"set": "\u2713", "unsure": "?", "unused": "\u00b7"}
_ARROW: Final = "\u2192"


class Card(Static):
    """A row for each part of a message: the field, the value before and after, the words."""

    def __init__(self, rows: tuple[Row, ...], voice: Voice) -> None:
        super().__init__(_table(rows, voice), markup=False, classes="line ftc card")
        self.border_title = voice.say("card.title")
        self.border_subtitle = voice.say("card.undo")


def _table(rows: tuple[Row, ...], voice: Voice) -> Table:
    table = Table.grid(padding=(0, 1))
    for row in rows:
        table.add_row(_MARKS[row.kind], *_cells(row, voice))
    return table


def _cells(row: Row, voice: Voice) -> tuple[Text, Text]:
    """Return the topic of a row, and its result with the words that led to it."""
    words = voice.say("card.words", words=row.words)
    if row.kind != "set":
        told = voice.say(f"card.{row.kind}", what=row.what, words=words)
        return Text(""), Text(told, style="italic")
    pointer = find_asked(join(row.what.split(".")))
    name = Text.assemble((name_field(pointer, voice.language), "bold"), f"\n{row.what}")
    change = Text.assemble((row.before, "strike"), f" {_ARROW} ", (row.after, "bold"))
    return name, Text.assemble(change, f"\n{words}")
