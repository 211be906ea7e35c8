"""Beside the conversation: the spec as it grows, the memory against the GPU, time, findings."""

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from ftc.tui.view import View


class Side(VerticalScroll):
    """Three blocks, each with a title, rewritten at every answer."""

    can_focus = True

    def compose(self) -> ComposeResult:
        """Make the blocks, empty."""
        for name in ("spec", "memory", "findings"):
            yield Static("", id=name, markup=False)

    def show(self, view: View) -> None:
        """Show what follows from the draft now."""
        for name, title, text in (
            ("spec", view.titles["spec"], view.spec),
            ("memory", view.titles["memory"], view.memory),
            ("findings", view.titles["findings"], view.findings),
        ):
            block = self.query_one(f"#{name}", Static)
            block.border_title = title
            block.update(Text(text))
