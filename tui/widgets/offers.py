"""The answers on offer, as a list: arrows and Enter, a number, or a click."""

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option as Row


class Offers(OptionList):
    """Answers with what each leads to; hidden while there are none."""

    class Chosen(Message):
        """An answer was chosen; `index` counts from 0."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def offer(self, answers: tuple[tuple[str, str], ...], suggested: int | None) -> None:
        """Show answers as (label, consequence)."""
        self.clear_options()
        for number, (label, consequence) in enumerate(answers, start=1):
            mark = "\u2190 " if number - 1 == suggested else ""
            told = f"  {mark}{consequence}" if consequence or mark else ""
            self.add_option(Row(Content(f"{number}. {label}{told}")))
        self.display = bool(answers)
        if suggested is not None and answers:
            self.highlighted = suggested

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Tell which answer it was."""
        event.stop()
        self.post_message(self.Chosen(event.option_index))
