"""The help screen: every action with its key, from the table of actions."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ftc.tui.bundle.actions import ACTIONS
from ftc.tui.languages.voice import Voice
from ftc.tui.widgets.marked import split_marked


class HelpScreen(ModalScreen[None]):
    """All keys and commands; each of its keys returns to the conversation."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q", "dismiss", "OK")]

    def __init__(self, voice: Voice) -> None:
        super().__init__()
        self.voice = voice

    def compose(self) -> ComposeResult:
        """Write the table."""
        say = self.voice.say
        keys = "\n".join(
            f"{action.key:>8}  {say(action.label)}: {say(action.help)}" for action in ACTIONS
        )
        with VerticalScroll(id="help"):
            told = f"{say('help')}\n\n{keys}\n\n{say('help.keys')}\n{say('help.leave')}"
            yield Static(Content.assemble(*split_marked(told)), markup=False)
