"""The line that says that something is under way, for how long, and what ends it."""

from itertools import cycle
from time import monotonic
from typing import Final

from textual.timer import Timer
from textual.widgets import Static

from ftc.tui.voice import Voice

_STEPS: Final = "|/-\\"
_STEP_SECONDS: Final = 0.25
_UNNOTICED_SECONDS: Final = 0.3


class Busy(Static):
    """Hidden while nothing is under way, and for as long as nobody would notice."""

    def __init__(self, voice: Voice) -> None:
        super().__init__("", id="busy", markup=False)
        self.voice = voice
        self.began: float | None = None
        self.steps = cycle(_STEPS)
        self.timer: Timer | None = None

    def on_mount(self) -> None:
        """Wait for something to do."""
        self.display = False
        self.timer = self.set_interval(_STEP_SECONDS, self._step, pause=True)

    @property
    def active(self) -> bool:
        """Whether something is under way."""
        return self.began is not None

    def begin(self) -> None:
        """Something is under way from now on."""
        self.began = monotonic()
        if self.timer is not None:
            self.timer.resume()

    def end(self) -> None:
        """Nothing is under way any more."""
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
