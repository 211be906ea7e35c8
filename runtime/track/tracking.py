"""Keeps one run at a tracker, however often training is resumed.

The type, project and name are read from spec.json, so that changing them does not train again.
Settings in the environment are kept; keys are only read from there. Each tracker has a module,
`tracking_TYPE`, of which a bundle carries the one that its spec names.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..run import Run

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
        """Flush pending data when training ends early with an exit code."""


def open_tracker(run: Run) -> TrackedRun:
    """Return the run that the spec describes."""
    spec: dict[str, Any] = json.loads((run.bundle / "spec.json").read_text(encoding="utf-8"))
    said = spec.get("tracking", {})
    tracking = {"type": DEFAULT, **({"type": said} if isinstance(said, str) else said)}
    project, name = (tracking.get(key) or spec["name"] for key in ("project", "run"))
    module = f"tracking_{tracking['type']}"
    if find_spec(f"{__package__}.{module}") is None:
        run.stop(f"runtime/track/{module}.py is missing: compile this bundle again")
    tracked: TrackedRun = import_module(f".{module}", __package__).Tracker(project, name)
    return tracked


def write_table(samples: Sequence[Mapping[str, str]]) -> str:
    """Return answers as a table in Markdown."""
    rows = [[_escape(sample[name]) for name in COLUMNS] for sample in samples]
    lines = [list(COLUMNS), ["---"] * len(COLUMNS), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _escape(text: str) -> str:
    """Return a text as one cell of a table."""
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    return shown.replace("\n", "<br>")


def wait_for(action: Callable[[], object]) -> None:
    """Do what a tracker does at its end, for at most FLUSH_SECONDS."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(FLUSH_SECONDS)
