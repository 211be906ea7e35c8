"""Which tracker a spec names, and what sample answers look like there."""

import json
from pathlib import Path

import pytest

from ftc.runtime.run import Run
from ftc.runtime.track.samples import send_samples, write_table
from ftc.runtime.track.tracking import DEFAULT, open_tracker
from ftc.spec.schema import find_field


def test_a_spec_without_a_tracker_has_the_default_of_the_schema() -> None:
    """A bundle's spec.json has only what the user wrote."""
    assert find_field("/tracking/type").schema["default"] == DEFAULT


@pytest.mark.parametrize(
    ("tracking", "found"),
    [
        ({}, ("tensorboard", "triage", "triage")),
        ({"tracking": "wandb"}, ("wandb", "triage", "triage")),
        ({"tracking": {"type": "mlflow", "run": "first"}}, ("mlflow", "triage", "first")),
        ({"tracking": {"project": "support"}}, ("tensorboard", "support", "triage")),
    ],
)
def test_a_tracker_is_what_the_spec_says(
    tmp_path: Path, tracking: dict[str, object], found: tuple[str, str, str]
) -> None:
    """Project and run are named after the spec if it names none."""
    (tmp_path / "spec.json").write_text(json.dumps({"name": "triage", **tracking}))
    tracker = open_tracker(Run(tmp_path, stage="train"))
    assert (tracker.kind, tracker.project, tracker.name) == found


@pytest.mark.parametrize(
    "kind", sorted(set(find_field("/tracking/type").schema["enum"]) - {"none"})
)
def test_each_tracker_of_the_schema_has_a_module(tmp_path: Path, kind: str) -> None:
    """Its class has the Trainer's name of the tracker."""
    (tmp_path / "spec.json").write_text(json.dumps({"name": "triage", "tracking": kind}))
    assert open_tracker(Run(tmp_path, stage="train")).kind == kind


def test_a_tracker_without_a_module_ends_the_stage(tmp_path: Path) -> None:
    """A bundle carries the module of the tracker that it was compiled for."""
    (tmp_path / "spec.json").write_text(json.dumps({"name": "triage", "tracking": "comet"}))
    with pytest.raises(SystemExit):
        open_tracker(Run(tmp_path, stage="train"))


def test_answers_are_cells_of_a_table() -> None:
    """Whatever characters and lines they have."""
    samples = [{"prompt": "a | b", "answer": "<c>", "said": "d\ne"}]
    assert write_table(samples).splitlines()[2] == "| a &#124; b | &lt;c> | d<br>e |"


def test_samples_of_one_second_are_all_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Event files are named after the second in which they begin."""
    pytest.importorskip("tensorboardX")
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path))
    monkeypatch.setattr("time.time", lambda: 1_790_000_000.0)
    for step in (0, 20):
        sample = {"prompt": "q", "answer": "a", "said": f"step {step}"}
        send_samples("tensorboard", step, [sample])
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"step 0" in written
    assert b"step 20" in written
