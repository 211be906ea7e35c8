"""Keeps a run of Trackio."""

import os
from pathlib import Path

from ..run import Run
from .flushing import wait_for
from .tracking import TrackedRun


class Tracker(TrackedRun):
    """A run of Trackio, in the run folder. A resumed training continues the run of its name."""

    kind = "trackio"

    def arguments(self) -> dict[str, str]:
        """Return the Trainer's arguments; only Trackio reads a project from them."""
        return {**super().arguments(), "project": self.project}

    def begin(self, run: Run) -> None:
        """Set the folder in the environment."""
        os.environ.setdefault("TRACKIO_DIR", str(Path(run.folder, "train/trackio")))

    def end(self, code: int) -> None:
        """Write what is left, when training ends early."""
        import trackio  # reads TRACKIO_DIR when it is first imported

        run = trackio.context_vars.current_run.get()
        if run is not None:
            wait_for(run.finish)
