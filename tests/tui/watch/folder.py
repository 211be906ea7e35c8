"""A bundle's folder with the files that its scripts write, at a moment that a test chooses."""

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GIB = 2**30
#: When training began; a moment after any process of this machine did.
BEGAN = 2_000_000_000.0
STAGES = ["prepare", "train", "merge", "evaluate", "quantize"]
PLAN: Mapping[str, Any] = {
    "version": 1,
    "name": "triage",
    "stages": STAGES,
    "steps": 100,
    "micro_batch": 8,
    "tokens_per_step": 900,
    "memory_bytes": 14 * GIB,
    "capacity_bytes": 24 * GIB,
    "seconds": {"low": 180.0, "total": 200.0, "high": 240.0},
}


class Bundle:
    """Writes as the scripts do: a line at a time, at the end of a file."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        self.folder = folder
        (folder / "run" / "train").mkdir(parents=True)
        (folder / "plan.json").write_text(json.dumps({**PLAN, **plan}))

    def note(self, stage: str, event: str, at: float, **more: Any) -> None:
        """Note that a stage began or ended, so many seconds after training began."""
        record = {"time": BEGAN + at, "stage": stage, "event": event, **more}
        if event == "began":
            record = {"pid": os.getpid(), "host": socket.gethostname(), **record}
        self.append("run/stages.jsonl", json.dumps(record) + "\n")

    def log(self, at: float, step: int, **more: Any) -> None:
        """Log a step of training."""
        record = {"time": BEGAN + at, "step": step, "steps": 100, "epoch": step / 50, **more}
        self.append("run/train/log.jsonl", json.dumps(record) + "\n")

    def append(self, name: str, text: str) -> None:
        """Write at the end of a file, whatever it is."""
        with (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(text)

    def train_to(self, last: int, *, first: int = 1, at: float = 0.0) -> None:
        """Log steps of two seconds, with an evaluation after each tenth."""
        for step in range(first, last + 1):
            moment = at + 2.0 * (step - first + 1)
            self.log(
                moment,
                step,
                loss=2.0 - step / 100,
                learning_rate=2e-4 * (1 - step / 100),
                num_tokens=900 * (step - first + 1),
                memory_bytes=13 * GIB,
            )
            if step % 10 == 0:
                self.log(moment, step, eval_loss=2.1 - step / 100, eval_runtime=0.5)


def begin(folder: Path, **plan: Any) -> Bundle:
    """Return a bundle whose data are prepared and whose training has begun."""
    bundle = Bundle(folder, **plan)
    bundle.note("prepare", "began", -40)
    bundle.note("prepare", "done", -12, seconds=27.5)
    bundle.note("train", "began", -10)
    bundle.log(0, 0, event="began", micro_batch=8)
    return bundle
