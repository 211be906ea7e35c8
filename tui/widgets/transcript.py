"""The conversation so far, one block per line."""

from textual.containers import VerticalScroll
from textual.widgets import Static

from ftc.tui.line import Line

_NEAR_THE_END = 3


class Transcript(VerticalScroll):
    """The lines, the newest last; it scrolls with them while the view is at the end."""

    can_focus = True

    def add(self, lines: tuple[Line, ...]) -> None:
        """Append lines."""
        follows = self.max_scroll_y - self.scroll_y <= _NEAR_THE_END
        for line in lines:
            mark = "> " if line.who == "you" else ""
            self.mount(
                Static(mark + line.text, markup=False, classes=f"line {line.who} {line.kind}")
            )
        if follows:
            self.call_after_refresh(self.scroll_end, animate=False)
