"""Keeps a run at an MLflow server."""

import os
from collections.abc import Mapping, Sequence

from ..exit_codes import PREEMPTED
from ..run import Run
from .tracking import TrackedRun, wait_for, write_table


class Tracker(TrackedRun):
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
        """Flush pending data when training ends early."""
        import mlflow

        run = mlflow.active_run()
        if run is not None:
            status = "KILLED" if code == PREEMPTED else "FAILED"
            wait_for(lambda: _close(run.info.run_id, status))


def _close(run_id: str, status: str) -> None:
    import mlflow

    mlflow.flush_async_logging()
    mlflow.MlflowClient().set_terminated(run_id, status)
