"""The line for a message; a paste of several lines is one message."""

from textual import events
from textual.message import Message
from textual.widgets import Input


class MessageInput(Input):
    """An input that sends a paste of several lines at once, instead of its first line."""

    class Pasted(Message):
        """Several lines were pasted."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def on_paste(self, event: events.Paste) -> None:
        """Post a paste of several lines; one line goes into the input."""
        if len(event.text.strip().splitlines()) > 1:
            event.stop()
            event.prevent_default()
            self.post_message(self.Pasted(event.text.strip("\r\n")))
