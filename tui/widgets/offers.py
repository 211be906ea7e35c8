"""The answers on offer, as a list: arrows and Enter, a number, or a click."""

from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option as Row


class Offers(OptionList):
    """Answers with their consequences; hidden while there are none."""

    class Chosen(Message):
        """An answer was chosen; `index` counts from 0."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def offer(self, answers: tuple[str, ...], suggested: int | None) -> None:
        """Show answers, with the cursor on ftc's suggestion."""
        self.clear_options()
        self.add_options(
            Row(Content(f"{number}. {answer}")) for number, answer in enumerate(answers, start=1)
        )
        self.display = bool(answers)
        if answers:
            self.highlighted = suggested or 0

    def on_key(self, event: Key) -> None:
        """Choose the answer with the typed number."""
        if event.key.isdecimal() and 1 <= int(event.key) <= self.option_count:
            event.stop()
            event.prevent_default()
            self.post_message(self.Chosen(int(event.key) - 1))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Post which answer was chosen."""
        event.stop()
        self.post_message(self.Chosen(event.option_index))
