"""Keeps a run at an MLflow server."""

import os

from ..exit_codes import PREEMPTED
from ..run import Run
from .flushing import wait_for
from .tracking import TrackedRun


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
