"""The conversation so far, one block per line."""

from rich import box
from rich.table import Table
from rich.text import Text
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Markdown, Static

from ftc.tui.languages.voice import Voice
from ftc.tui.state.line import Cells, Line
from ftc.tui.widgets.card import Card
from ftc.tui.widgets.examples import Examples
from ftc.tui.widgets.marked import split_marked
from ftc.tui.widgets.speech import Speech

_MOST_LINES = 12
_FIRST_LINES = 3


class Transcript(VerticalScroll):
    """The lines, the newest last.

    It stays scrolled to the end until the user scrolls. The user's next message scrolls to the end
    again.
    """

    can_focus = True

    def __init__(self, voice: Voice) -> None:
        super().__init__(id="transcript")
        self.voice = voice
        self.heard: Speech | None = None

    def on_mount(self) -> None:
        """Stay at the end."""
        self.anchor()

    async def hear(self, model: str, piece: str) -> None:
        """Show the next piece of a model's reply."""
        if self.heard is None:
            self.heard = Speech(model, self.voice)
            await self.mount(self.heard)
        await self.heard.hear(piece)

    def add(self, lines: tuple[Line, ...]) -> None:
        """Append lines; a card replaces the lines that it repeats.

        A model's reply stays in its block, even if it was interrupted.
        """
        heard, self.heard = self.heard, None
        if heard is not None:
            speech = next((line.said for line in lines if line.kind == "speech"), heard.said)
            heard.end(speech)
            lines = tuple(line for line in lines if line.kind != "speech")
        if any(line.who == "you" for line in lines):
            self.anchor()
        has_card = any(line.card for line in lines)
        self.mount_all(
            Card(line.card, self.voice) if line.card else self._block(line)
            for line in lines
            if not (has_card and line.kind == "unused")
        )

    def _block(self, line: Line) -> Widget:
        """Return a line as a block; a long paste is reduced to its first lines and their number."""
        classes = f"line {line.who} {line.kind}{' model' if line.by else ''}"
        match line.kind:
            case "page":
                return Markdown(line.text, classes=classes, open_links=False)
            case "spec":
                return Markdown(f"```json\n{line.text}\n```", classes=classes, open_links=False)
            case "speech":
                return Speech(line.by, self.voice, line.said)
            case "table":
                return Static(_table(line.cells), classes=classes)
            case "examples":
                return Examples(tuple(cell for (cell,) in line.cells), self.voice)
        rows = line.text.splitlines()
        text = line.text
        if line.who == "you" and len(rows) > _MOST_LINES:
            more = self.voice.say("more_lines", count=len(rows) - _FIRST_LINES)
            text = "\n".join([*rows[:_FIRST_LINES], more])
        if line.who == "you":
            return Static(f"> {text}", markup=False, classes=classes)
        return Static(Text.assemble(*split_marked(text)), markup=False, classes=classes)


def _table(cells: Cells) -> Table:
    head, *rows = cells
    table = Table(*head, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
