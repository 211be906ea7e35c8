"""The findings about the draft, with a symbol and a colour for severity, and the fix key."""

from typing import Final

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option as Row

from ftc.tui.languages.voice import Voice
from ftc.tui.session.view import FindingRow, View
from ftc.tui.widgets.marked import split_marked

_FIX_KEY: Final = "F8"  # the border says what it does
_MARKS: Final = {"error": "\u2717", "warning": "\u25b2", "info": "\u2139"}
_COLOURS: Final = {"error": "$text-error", "warning": "$text-warning", "info": "$text-primary"}


class Findings(OptionList):
    """One finding per row; Enter or a click applies its fix, or opens the page of its rule."""

    class Picked(Message):
        """A finding was picked."""

        def __init__(self, finding: FindingRow) -> None:
            super().__init__()
            self.finding = finding

    def __init__(self, voice: Voice) -> None:
        super().__init__(id="findings")
        self.voice = voice
        self.shown: tuple[FindingRow, ...] = ()

    def show(self, view: View) -> None:
        """Show the findings, or a row that says that there are none."""
        self.border_title = view.titles["findings"]
        self.shown = view.findings
        self.clear_options()
        nothing = f"\u2713 {self.voice.say('side.nothing_wrong')}"
        self.add_options(
            [Row(self._content(each)) for each in self.shown] or [Row(nothing, disabled=True)]
        )
        self.border_subtitle = self.voice.say("fix.key") if self._fixable() else ""

    def _fixable(self) -> bool:
        return any(each.is_fixable for each in self.shown)

    def _content(self, finding: FindingRow) -> Content:
        mark = f"{_MARKS[finding.severity]} "
        fix = f" [{_FIX_KEY}]" if finding.is_fixable else ""
        told = split_marked(finding.text)
        return Content.assemble((mark, _COLOURS[finding.severity]), *told, (fix, "bold"))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Post the picked finding."""
        event.stop()
        self.post_message(self.Picked(self.shown[event.option_index]))
