"""The values of the spec and the plan as rows, with the reason of the selected one below."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option as Row

from ftc.tui.languages.voice import Voice
from ftc.tui.session.view import MARKS, PlanRow, View


class PlanRows(Vertical):
    """A list for arrows and clicks, and the answer to "why?"."""

    def __init__(self, voice: Voice) -> None:
        super().__init__(id="spec")
        self.voice = voice
        self.rows: tuple[PlanRow, ...] = ()
        self.legend = ""

    def compose(self) -> ComposeResult:
        """Create the empty list."""
        yield OptionList(id="rows")
        yield Static("", id="why", markup=False)

    def show(self, view: View) -> None:
        """Show the rows; the highlight stays on its row if the row still exists."""
        self.border_title = view.titles["spec"]
        listed = self.query_one("#rows", OptionList)
        before = listed.highlighted
        key = self.rows[before].key if before is not None and before < len(self.rows) else None
        self.rows, self.legend = view.rows, view.legend
        listed.clear_options()
        listed.add_options(Row(_content(row)) for row in self.rows)
        listed.display = bool(self.rows)
        self.set_class(not self.rows, "-empty")
        keys = [row.key for row in self.rows]
        listed.highlighted = keys.index(key) if key in keys and listed.has_focus else None
        self._tell(None)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Answer "why?" for the row under the cursor."""
        event.stop()
        self._tell(event.option_index)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Answer "why?" for the row that was clicked."""
        event.stop()
        self._tell(event.option_index)

    def _tell(self, index: int | None) -> None:
        why = self.query_one("#why", Static)
        if not self.rows:
            why.update(self.voice.say("side.nothing_yet"))
        elif index is None:
            why.update(f"{self.voice.say('row.hint')} ({self.legend})")
        else:
            why.update(self.rows[index].why)


def _content(row: PlanRow) -> Content:
    """Return a row: its mark, the name in the user's language, the value, the raw key."""
    return Content.assemble(
        f"{MARKS[row.source]} {row.name}: ", (row.value, "bold"), (f"  {row.key}", "italic")
    )
