"""Keeps a run in event files of TensorBoard."""

import os

from ..run import Run
from .tracking import TrackedRun


class Tracker(TrackedRun):
    """Event files in the run folder, which TensorBoard reads."""

    kind = "tensorboard"

    def begin(self, run: Run) -> None:
        """Set the folder in the environment, for the Trainer."""
        os.environ.setdefault("TENSORBOARD_LOGGING_DIR", "run/train/tensorboard")
