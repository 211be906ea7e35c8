"""The panel beside the conversation: the spec, memory and time, and findings."""

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from ftc.tui.view import View


class Side(VerticalScroll):
    """Three blocks, each with a title, updated after every answer."""

    can_focus = True

    def compose(self) -> ComposeResult:
        """Create the empty blocks."""
        for name in ("spec", "memory", "findings"):
            yield Static("", id=name, markup=False)

    def show(self, view: View) -> None:
        """Show the current state of the draft."""
        for name, title, text in (
            ("spec", view.titles["spec"], view.spec),
            ("memory", view.titles["memory"], view.memory),
            ("findings", view.titles["findings"], view.findings),
        ):
            block = self.query_one(f"#{name}", Static)
            block.border_title = title
            block.update(Text(text))
