"""Keeps a run at Weights & Biases."""

import os
import secrets
from collections.abc import Mapping, Sequence

from ..run import Run
from .tracking import COLUMNS, TrackedRun, wait_for


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

    def log_samples(self, step: int, samples: Sequence[Mapping[str, str]]) -> None:
        """Add the answers as a table."""
        import wandb

        rows = [[sample[name] for name in COLUMNS] for sample in samples]
        table = wandb.Table(columns=list(COLUMNS), data=rows)
        wandb.log({"samples": table, "train/global_step": step})

    def end(self, code: int) -> None:
        """Flush pending data when training ends early."""
        import wandb

        if wandb.run is not None:
            wait_for(lambda: wandb.finish(exit_code=code))
