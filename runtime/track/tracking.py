"""Keeps one run at a tracker, however often training is resumed.

The type, project and name are read from spec.json, so that changing them does not train again.
Settings in the environment are kept; keys are only read from there. Each tracker has a module,
`tracking_TYPE`, of which a bundle carries the one that its spec names.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..files import read_json
from ..run import Run

DEFAULT = "tensorboard"  # of a spec that names no tracker


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

    def end(self, code: int) -> None:
        """Flush pending data when training ends early with an exit code."""


def open_tracker(run: Run) -> TrackedRun:
    """Return the run that the spec describes."""
    spec: dict[str, Any] = read_json(run.bundle / "spec.json")
    said = spec.get("tracking", {})
    tracking = {"type": DEFAULT, **({"type": said} if isinstance(said, str) else said)}
    project, name = (tracking.get(key) or spec["name"] for key in ("project", "run"))
    module = f"tracking_{tracking['type']}"
    if find_spec(f"{__package__}.{module}") is None:
        run.stop(f"runtime/track/{module}.py is missing: compile this bundle again")
    tracked: TrackedRun = import_module(f".{module}", __package__).Tracker(project, name)
    return tracked
