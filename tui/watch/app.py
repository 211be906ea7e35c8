"""The application of `ftc watch`, which shows one screen of runs."""

import time
from collections.abc import Callable, Sequence

from textual.app import App

from ftc.tui.languages.voice import Voice
from ftc.tui.state.saved_state import find_theme
from ftc.tui.watch.run import Run, Watched
from ftc.tui.watch.screen import WatchScreen
from ftc.tui.watch.words import ENGLISH


class Watch(App[None]):
    """Exits when its only screen closes."""

    TITLE = "ftc watch"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        watched: Sequence[Watched],
        runs: Sequence[Run],
        clock: Callable[[], float] = time.time,
        voice: Voice = ENGLISH,
    ) -> None:
        super().__init__()
        self.runs_screen = WatchScreen(watched, runs, clock, voice)

    def on_mount(self) -> None:
        """Open the screen with the saved theme."""
        theme = find_theme()
        if theme in self.available_themes:
            self.theme = theme
        self.push_screen(self.runs_screen, lambda _: self.exit())
