"""The completions of the word being typed, above the message."""

from typing import Final

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option as Row

from ftc.tui.languages.voice import Voice
from ftc.tui.terminal.completion import Completion, Kind

_MARKS: Final[dict[Kind, str]] = {"file": "\u2261", "model": "\u25c6", "gpu": "\u25a3"}


class Names(OptionList):
    """A list without focus; the message field keeps the focus and moves the highlight."""

    can_focus = False

    class Taken(Message):
        """A name was clicked; `index` counts from 0."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, voice: Voice) -> None:
        super().__init__(id="names")
        self.voice = voice
        self.shown: tuple[Completion, ...] = ()

    def on_mount(self) -> None:
        """Start hidden."""
        self.display = False
        self.border_subtitle = self.voice.say("names.keys")

    def show(self, found: tuple[Completion, ...], chosen: int) -> None:
        """Show the names with their kinds, and highlight the chosen one."""
        if found != self.shown:
            self.shown = found
            self.clear_options()
            self.add_options(
                Row(Content(f"{_MARKS[each.kind]} {each.name}  ({self._kind(each.kind)})"))
                for each in found
            )
        self.display = bool(found)
        if found:
            self.highlighted = chosen

    def _kind(self, kind: Kind) -> str:
        return self.voice.say(f"names.{kind}")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Post the clicked name."""
        event.stop()
        self.post_message(self.Taken(event.option_index))
