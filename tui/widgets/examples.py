"""Example messages on the first screen; a click or Enter puts one into the message field."""

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option as Row

from ftc.tui.languages.voice import Voice


class Examples(OptionList):
    """The examples, one per row."""

    class Picked(Message):
        """An example was picked."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, examples: tuple[str, ...], voice: Voice) -> None:
        rows = (Row(Content(f"\u203a {each}")) for each in examples)
        super().__init__(*rows, id="examples", classes="line")
        self.examples = examples
        self.border_title = voice.say("examples")

    def on_mount(self) -> None:
        """Highlight no example until one is chosen."""
        self.highlighted = None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Post the picked example."""
        event.stop()
        self.post_message(self.Picked(self.examples[event.option_index]))
