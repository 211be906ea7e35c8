"""The output of a detached command: the end of its log, until the command ends."""

from pathlib import Path
from typing import ClassVar, Final

import psutil
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ftc.tui.languages.voice import Voice
from ftc.tui.watch.tail import read_tail

_EVERY_SECONDS: Final = 0.5


class LogScreen(ModalScreen[None]):
    """The last lines of a log; closing it does not end the command."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "OK")]

    def __init__(self, log: Path, pid: int, voice: Voice) -> None:
        super().__init__()
        self.log_path = log
        self.pid = pid
        self.voice = voice

    def compose(self) -> ComposeResult:
        """Lay out one block."""
        yield Static("", id="log", markup=False)

    def on_mount(self) -> None:
        """Read the log periodically."""
        block = self.query_one("#log", Static)
        block.border_title = str(self.log_path)
        self._read()
        self.set_interval(_EVERY_SECONDS, self._read)

    def on_resize(self) -> None:
        """Show as many lines as fit."""
        self.call_after_refresh(self._read)

    def _read(self) -> None:
        """Show the end of the log, and below it whether the command is still running."""
        block = self.query_one("#log", Static)
        is_running = psutil.pid_exists(self.pid)
        lines = read_tail(self.log_path, max(1, block.content_size.height - 2))
        state = self.voice.say("log.running" if is_running else "log.ended")
        block.update(Content("\n".join([*lines, "", f"{state} {self.voice.say('help.leave')}"])))
