"""The conversation so far, one block per line."""

from textual.containers import VerticalScroll
from textual.widgets import Static

from ftc.tui.line import Line
from ftc.tui.voice import Voice
from ftc.tui.widgets.card import Card

_NEAR_THE_END = 3
_MOST_LINES = 12
_FIRST_LINES = 3


class Transcript(VerticalScroll):
    """The lines, the newest last; it scrolls with them while the view is at the end."""

    can_focus = True

    def __init__(self, voice: Voice) -> None:
        super().__init__(id="transcript")
        self.voice = voice

    def add(self, lines: tuple[Line, ...]) -> None:
        """Append lines; a card stands for the lines that it repeats."""
        follows = self.max_scroll_y - self.scroll_y <= _NEAR_THE_END
        has_card = any(line.card for line in lines)
        for line in lines:
            if line.card:
                self.mount(Card(line.card, self.voice))
            elif not (has_card and line.kind == "unused"):
                self.mount(self._block(line))
        if follows:
            self.call_after_refresh(self.scroll_end, animate=False)

    def _block(self, line: Line) -> Static:
        """Return a line as a block; of a long paste, its first lines and their number."""
        rows = line.text.splitlines()
        text = line.text
        if line.who == "you" and len(rows) > _MOST_LINES:
            more = self.voice.say("more_lines", count=len(rows) - _FIRST_LINES)
            text = "\n".join([*rows[:_FIRST_LINES], more])
        mark = "> " if line.who == "you" else ""
        model = " model" if line.by else ""
        classes = f"line {line.who} {line.kind}{model}"
        return Static(mark + text, markup=False, classes=classes)
