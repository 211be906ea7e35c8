"""Keeps a run at Weights & Biases."""

import os
import secrets

from ..run import Run
from .flushing import wait_for
from .tracking import TrackedRun


class Tracker(TrackedRun):
    """A run at Weights & Biases."""

    kind = "wandb"

    def begin(self, run: Run) -> None:
        """Set the run's id and folder in the environment, for the Trainer."""
        folder = run.folder / "train"
        note = folder / "wandb_run"
        if run.rank == 0:
            if not note.is_file():
                note.write_text(secrets.token_hex(8))
            os.environ.setdefault("WANDB_RUN_ID", note.read_text())
        os.environ.setdefault("WANDB_PROJECT", self.project)
        os.environ.setdefault("WANDB_DIR", str(folder))
        os.environ.setdefault("WANDB_RESUME", "allow")

    def end(self, code: int) -> None:
        """Flush pending data when training ends early."""
        import wandb

        if wandb.run is not None:
            wait_for(lambda: wandb.finish(exit_code=code))
