"""Keeps a run of Trackio."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..run import Run
from .tracking import TrackedRun, wait_for, write_table


class Tracker(TrackedRun):
    """A run of Trackio, in the run folder; its name makes it the same run."""

    kind = "trackio"

    def arguments(self) -> dict[str, str]:
        """Return the Trainer's arguments; only Trackio reads a project from them."""
        return {**super().arguments(), "project": self.project}

    def begin(self, run: Run) -> None:
        """Set the folder in the environment."""
        os.environ.setdefault("TRACKIO_DIR", str(Path(run.folder, "train/trackio")))

    def log_samples(self, step: int, samples: Sequence[Mapping[str, str]]) -> None:
        """Add the answers as a text."""
        import trackio

        trackio.log({"samples": trackio.Markdown(write_table(samples)), "train/global_step": step})

    def end(self, code: int) -> None:
        """Write what is left, when training ends early."""
        import trackio  # reads TRACKIO_DIR when it is first imported

        run = trackio.context_vars.current_run.get()
        if run is not None:
            wait_for(run.finish)
