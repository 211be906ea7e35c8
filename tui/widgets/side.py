"""The panel beside the conversation: memory and time, findings, and the spec with the plan."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from ftc.tui.languages.voice import Voice
from ftc.tui.session.view import View
from ftc.tui.widgets.findings import Findings
from ftc.tui.widgets.memory import MemoryBars
from ftc.tui.widgets.plan_rows import PlanRows


class Side(VerticalScroll):
    """Three blocks, each with a title, updated after every answer."""

    can_focus = False

    def __init__(self, voice: Voice) -> None:
        super().__init__(id="side")
        self.voice = voice

    def compose(self) -> ComposeResult:
        """Create the empty blocks."""
        yield MemoryBars(self.voice)
        yield Findings(self.voice)
        yield PlanRows(self.voice)

    def show(self, view: View) -> None:
        """Show the current state of the draft."""
        self.query_one(MemoryBars).show(view)
        self.query_one(Findings).show(view)
        self.query_one(PlanRows).show(view)
