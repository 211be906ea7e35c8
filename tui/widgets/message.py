"""The message field: several lines, message history, and completion of names."""

from pathlib import Path
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from ftc.tui.bundle.actions import ACTIONS
from ftc.tui.terminal.completion import Completion, complete
from ftc.tui.terminal.history import History

_LINE = "shift+enter,alt+enter,ctrl+j"


class MessageInput(TextArea):
    """Enter sends, and a line break has its own key; Up and Down go through the sent messages.

    The rest of a name being typed is shown after the cursor; Right or Tab takes it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding(_LINE, "break_line", show=False)]

    class Sent(Message):
        """The message was sent."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Completing(Message):
        """The completions of the word at the cursor changed, perhaps to none."""

        def __init__(self, found: tuple[Completion, ...]) -> None:
            super().__init__()
            self.found = found

    class Left(Message):
        """Down was pressed after the newest message, so the focus may move on."""

    def __init__(self, placeholder: str, folder: Path, history: History) -> None:
        super().__init__(
            id="message",
            placeholder=placeholder,
            compact=True,
            soft_wrap=True,
            tab_behavior="focus",
            highlight_cursor_line=False,
        )
        for action in ACTIONS:  # these keys replace the editor's own undo, select and others
            self._bindings.key_to_bindings.pop(action.key, None)
        self.folder = folder
        self.sent = history
        self.found: tuple[Completion, ...] = ()
        self.chosen = 0

    def fill(self, text: str) -> None:
        """Replace the text, with the cursor at its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def on_key(self, event: events.Key) -> None:
        """Send with Enter; while names are offered, Tab takes one and Escape closes the list."""
        if event.key == "enter":
            text = self.text
            self.sent.add(text)
            self.clear()
            self.post_message(self.Sent(text))
        elif event.key == "tab" and self.found:
            self._take(self.found[self.chosen])
        elif event.key == "escape" and self.found:
            self._offer(())
        else:
            return
        event.stop()
        event.prevent_default()

    def action_break_line(self) -> None:
        """Begin a new line in the message."""
        self.insert("\n")

    def action_cursor_up(self, select: bool = False) -> None:
        """Move up; from the first line, show the message sent before."""
        if self.found:
            self._turn(-1)
        elif select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        elif (text := self.sent.older(self.text)) is not None:
            self.fill(text)
            self._offer(())

    def action_cursor_down(self, select: bool = False) -> None:
        """Move down; from the last line, show the message sent after, or leave."""
        if self.found:
            self._turn(1)
        elif select or not self.navigator.is_last_wrapped_line(self.cursor_location):
            super().action_cursor_down(select)
        elif (text := self.sent.newer()) is not None:
            self.fill(text)
            self._offer(())
        else:
            self.post_message(self.Left())

    def update_suggestion(self) -> None:
        """Look for completions of the word at the cursor."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        at_the_end = column == len(line) and self.selection.is_empty
        self._offer(complete(line, self.folder) if at_the_end else ())

    def take(self, index: int) -> None:
        """Take one of the offered names."""
        self._take(self.found[index])

    def _take(self, completion: Completion) -> None:
        row, column = self.cursor_location
        self.replace(completion.name, (row, column - len(completion.word)), (row, column))
        self._offer(())

    def _turn(self, step: int) -> None:
        self._show((self.chosen + step) % len(self.found))

    def _offer(self, found: tuple[Completion, ...]) -> None:
        self.found = found
        self._show(0)

    def _show(self, chosen: int) -> None:
        """Show the rest of the chosen name, and highlight the name in the list."""
        self.chosen = chosen
        self.suggestion = self.found[chosen].rest if self.found else ""
        self.post_message(self.Completing(self.found))
