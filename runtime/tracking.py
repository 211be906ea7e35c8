"""Keeps one run at a tracker, however often training is resumed.

The type, project and name are read from spec.json, so that changing them does not train again.
Settings in the environment are kept; keys are only read from there.
"""

import json
import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .exit_codes import PREEMPTED
from .run import Run

DEFAULT = "tensorboard"  # of a spec that names no tracker
COLUMNS = ("prompt", "answer", "said")
FLUSH_SECONDS = 10  # of the time that is left after a signal


class TrackedRun:
    """A run at a tracker; `kind` is the Trainer's name of it."""

    kind = ""

    def __init__(self, project: str, name: str) -> None:
        self.project, self.name = project, name

    def arguments(self) -> dict[str, str]:
        """Return the Trainer's arguments for this tracker."""
        return {"report_to": self.kind, "run_name": self.name}

    def begin(self, run: Run) -> None:
        """Make the Trainer continue the same run; called when the run folder is locked."""

    def log_samples(self, step: int, samples: Sequence[Mapping[str, str]]) -> None:
        """Send generated answers: the `prompt`, the right `answer` and what the model `said`."""

    def end(self, code: int) -> None:
        """Send what is left, when training ends early with an exit code."""


class TensorboardRun(TrackedRun):
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


class WandbRun(TrackedRun):
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
        """Send what is left, when training ends early."""
        import wandb

        if wandb.run is not None:
            _wait_for(lambda: wandb.finish(exit_code=code))


class MlflowRun(TrackedRun):
    """A run at an MLflow server."""

    kind = "mlflow"

    def begin(self, run: Run) -> None:
        """Open the run before the Trainer would open another, and note its id."""
        import mlflow

        if run.rank != 0:
            return
        if "MLFLOW_TRACKING_URI" not in os.environ:
            run.stop("MLFLOW_TRACKING_URI is not set: set it to the address of the MLflow server")
        if "MLFLOW_RUN_ID" in os.environ:
            return  # the Trainer opens that one itself
        note = run.folder / "train/mlflow_run"
        mlflow.set_experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME", self.project))
        known = note.read_text() if note.is_file() else None
        note.write_text(mlflow.start_run(run_id=known, run_name=self.name).info.run_id)

    def log_samples(self, step: int, samples: Sequence[Mapping[str, str]]) -> None:
        """Add the answers as a file of the run."""
        import mlflow

        if (run := mlflow.active_run()) is not None:
            text = write_table(samples)
            mlflow.MlflowClient().log_text(run.info.run_id, text, f"samples/step-{step}.md")

    def end(self, code: int) -> None:
        """Send what is left, when training ends early."""
        import mlflow

        run = mlflow.active_run()
        if run is not None:
            status = "KILLED" if code == PREEMPTED else "FAILED"
            _wait_for(lambda: _close(run.info.run_id, status))


class TrackioRun(TrackedRun):
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
            _wait_for(run.finish)


def open_tracker(run: Run) -> TrackedRun:
    """Return the run that the spec describes."""
    spec: dict[str, Any] = json.loads((run.bundle / "spec.json").read_text(encoding="utf-8"))
    said = spec.get("tracking", {})
    tracking = {"type": DEFAULT, **({"type": said} if isinstance(said, str) else said)}
    kinds = {kind.kind: kind for kind in (TensorboardRun, WandbRun, MlflowRun, TrackioRun)}
    project, name = (tracking.get(key) or spec["name"] for key in ("project", "run"))
    return kinds[tracking["type"]](project, name)


def write_table(samples: Sequence[Mapping[str, str]]) -> str:
    """Return answers as a table in Markdown."""
    rows = [[_escape(sample[name]) for name in COLUMNS] for sample in samples]
    lines = [list(COLUMNS), ["---"] * len(COLUMNS), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _escape(text: str) -> str:
    """Return a text as one cell of a table."""
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    return shown.replace("\n", "<br>")


def _close(run_id: str, status: str) -> None:
    import mlflow

    mlflow.flush_async_logging()
    mlflow.MlflowClient().set_terminated(run_id, status)


def _wait_for(action: Callable[[], object]) -> None:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(FLUSH_SECONDS)
