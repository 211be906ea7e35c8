"""Keeps a run in event files of TensorBoard."""

import os
from collections.abc import Mapping, Sequence

from ..run import Run
from .tracking import TrackedRun, write_table


class Tracker(TrackedRun):
    """Event files in the run folder, which TensorBoard reads."""

    kind = "tensorboard"

    def begin(self, run: Run) -> None:
        """Set the folder in the environment, for the Trainer."""
        os.environ.setdefault("TENSORBOARD_LOGGING_DIR", "run/train/tensorboard")

    def log_samples(self, step: int, samples: Sequence[Mapping[str, str]]) -> None:
        """Add the answers as a text, in an event file of its own.

        Names of event files have the time in seconds: without the step, a second file of the same
        second would replace the first.
        """
        from tensorboardX import SummaryWriter

        folder = os.environ["TENSORBOARD_LOGGING_DIR"]
        with SummaryWriter(folder, filename_suffix=f".samples-{step}") as writer:
            writer.add_text("samples", write_table(samples), step)
