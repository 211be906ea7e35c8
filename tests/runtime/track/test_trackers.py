"""Each tracker keeps one run, with what the environment says before what the bundle says."""

import os
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from ftc.runtime.run import Run
from ftc.runtime.track import (
    flushing,
    tracking_mlflow,
    tracking_tensorboard,
    tracking_trackio,
    tracking_wandb,
)
from ftc.runtime.track.tracking import TrackedRun


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return the run of a bundle, in an environment that knows no tracker."""
    for name in list(os.environ):
        if name.startswith(("WANDB_", "MLFLOW_", "TRACKIO_", "TENSORBOARD_")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    (tmp_path / "run/train").mkdir(parents=True)
    return Run(tmp_path, stage="train")


def test_a_resumed_run_at_wandb_is_the_same(run: Run) -> None:
    """Its id is written beside the training; settings in the environment are kept."""
    os.environ["WANDB_PROJECT"] = "mine"
    tracker = tracking_wandb.Tracker("project", "name")
    tracker.begin(run)
    first = os.environ.pop("WANDB_RUN_ID")
    tracker.begin(run)

    assert os.environ["WANDB_RUN_ID"] == first == (run.folder / "train/wandb_run").read_text()
    assert os.environ["WANDB_PROJECT"] == "mine"
    assert os.environ["WANDB_RESUME"] == "allow"


def test_mlflow_needs_the_address_of_its_server(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that would be written somewhere else ends in one sentence."""
    monkeypatch.setitem(sys.modules, "mlflow", ModuleType("mlflow"))
    with pytest.raises(SystemExit, match="MLFLOW_TRACKING_URI is not set"):
        tracking_mlflow.Tracker("project", "name").begin(run)


@pytest.mark.parametrize(
    ("tracker", "kind", "variable"),
    [
        (tracking_tensorboard.Tracker, "tensorboard", "TENSORBOARD_LOGGING_DIR"),
        (tracking_trackio.Tracker, "trackio", "TRACKIO_DIR"),
    ],
)
def test_local_trackers_write_to_the_run_folder(
    run: Run, tracker: type[TrackedRun], kind: str, variable: str
) -> None:
    """The Trainer gets the name of the tracker and of the run."""
    opened = tracker("project", "name")
    opened.begin(run)

    assert "run/train/" in os.environ[variable]
    assert opened.arguments()["report_to"] == kind
    assert opened.arguments()["run_name"] == "name"


def test_a_flush_takes_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer keeps no process that was told to stop."""
    monkeypatch.setattr(flushing, "FLUSH_SECONDS", 0.05)
    began = time.monotonic()

    flushing.wait_for(lambda: time.sleep(5))

    assert time.monotonic() - began < 4


@pytest.mark.parametrize("is_open", [True, False])
def test_a_run_of_trackio_is_finished_when_training_ends_early(
    run: Run, monkeypatch: pytest.MonkeyPatch, *, is_open: bool
) -> None:
    """What is left is written, if the Trainer has begun a run."""
    finished: list[bool] = []
    held = SimpleNamespace(finish=lambda: finished.append(True)) if is_open else None
    library = ModuleType("trackio")
    library.context_vars = SimpleNamespace(  # type: ignore[attr-defined]
        current_run=SimpleNamespace(get=lambda: held)
    )
    monkeypatch.setitem(sys.modules, "trackio", library)
    tracker = tracking_trackio.Tracker("project", "name")
    tracker.begin(run)
    tracker.end(75)

    assert finished == [True] * is_open
    assert tracker.arguments()["project"] == "project"
