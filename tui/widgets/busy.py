"""The line that shows that a reply is in progress, its duration, and how to stop it."""

from itertools import cycle
from time import monotonic
from typing import Final

from textual.timer import Timer
from textual.widgets import Static

from ftc.tui.languages.voice import Voice

_STEPS: Final = "|/-\\"
_STEP_SECONDS: Final = 0.25
_UNNOTICED_SECONDS: Final = 0.3


class Busy(Static):
    """Hidden while nothing is in progress, and for the first moments of a reply."""

    def __init__(self, voice: Voice) -> None:
        super().__init__("", id="busy", markup=False)
        self.voice = voice
        self.began: float | None = None
        self.steps = cycle(_STEPS)
        self.timer: Timer | None = None

    def on_mount(self) -> None:
        """Start hidden."""
        self.display = False
        self.timer = self.set_interval(_STEP_SECONDS, self._step, pause=True)

    @property
    def active(self) -> bool:
        """Whether a reply is in progress."""
        return self.began is not None

    def begin(self) -> None:
        """Start showing that a reply is in progress."""
        self.began = monotonic()
        if self.timer is not None:
            self.timer.resume()

    def end(self) -> None:
        """Hide the line."""
        self.began = None
        self.display = False
        if self.timer is not None:
            self.timer.pause()

    def _step(self) -> None:
        if self.began is None or monotonic() - self.began < _UNNOTICED_SECONDS:
            return
        seconds = round(monotonic() - self.began)
        told = self.voice.say("busy", time=self.voice.say("time.seconds", count=seconds))
        self.update(f"{next(self.steps)} {told}")
        self.display = True
