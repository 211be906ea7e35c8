"""The list of offered answers, chosen with arrows and Enter, or a click; a number is a message."""

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option as Row

from ftc.tui.session.view import Offer


class Offers(OptionList):
    """Answers with their consequences; hidden if there are none."""

    class Chosen(Message):
        """An answer was chosen."""

        def __init__(self, offer: Offer) -> None:
            super().__init__()
            self.offer = offer

    def __init__(self) -> None:
        super().__init__(id="offers")
        self.shown: tuple[Offer, ...] = ()

    def offer(self, answers: tuple[Offer, ...], suggested: int | None) -> None:
        """Show answers, with the cursor on ftc's suggestion."""
        self.shown = answers
        self.clear_options()
        self.add_options(
            Row(Content(f"{number}. {answer.text}"))
            for number, answer in enumerate(answers, start=1)
        )
        self.display = bool(answers)
        if answers:
            self.highlighted = suggested or 0

    def find(self, text: str) -> Offer | None:
        """Return the answer that a message names by its number alone."""
        place = int(text) if text.isdecimal() else 0
        return self.shown[place - 1] if 1 <= place <= len(self.shown) else None

    def point(self, text: str) -> None:
        """Put the cursor on the answer that a message names by its number alone."""
        if (found := self.find(text)) is not None:
            self.highlighted = self.shown.index(found)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Post the chosen answer."""
        event.stop()
        self.post_message(self.Chosen(self.shown[event.option_index]))
