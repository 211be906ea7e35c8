"""Run a bundle's train.py, or its Trainer without what the bundle adds, and time every step.

    accelerate launch benchmarks/steps.py REPORT bundle|plain TRAIN.PY

`plain` makes TRL's Trainer anew, of the model, the rows and the settings of train.py, and nothing
else: no callbacks, no order of rows, no tracker. The report has the seconds and the processor's
seconds of every step, and of `bundle` those of every call of its session, by method. It ends with
training: nothing is saved but checkpoints.
"""

import json
import os
import runpy
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback
from trl import SFTTrainer

report_file, arm, script = sys.argv[1:]
report_path = Path(report_file).resolve()
marks: list[tuple[float, float]] = []
calls: dict[str, list[tuple[float, float]]] = defaultdict(list)


def now() -> tuple[float, float]:
    """Return the time and the processor's time of this process, in seconds."""
    return time.perf_counter(), time.process_time()


def since(begun: tuple[float, float]) -> tuple[float, float]:
    """Return the seconds since then, of both clocks."""
    wall, processor = now()
    return wall - begun[0], processor - begun[1]


class Marks(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Notes when each step begins."""

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Note the time."""
        del args, state, control, kwargs
        marks.append(now())


def watch(kind: Any, name: str) -> None:
    """Time every call of a method."""
    method: Callable[..., Any] = getattr(kind, name)

    def timed(*args: Any, **kwargs: Any) -> Any:
        begun = now()
        found = method(*args, **kwargs)
        calls[name].append(since(begun))
        return found

    setattr(kind, name, timed)


train = Trainer.train


def train_timed(self: Any, *args: Any, **kwargs: Any) -> None:
    """Train as told, write the report, and end the process."""
    trainer = self
    if arm == "plain":
        self.args.report_to = []
        trainer = SFTTrainer(
            model=self.model,
            args=self.args,
            train_dataset=self.train_dataset,
            processing_class=self.processing_class,
        )
    trainer.add_callback(Marks())
    train(trainer, *args, **kwargs)
    steps = [(later[0] - mark[0], later[1] - mark[1]) for mark, later in pairwise(marks)]
    report_path.write_text(json.dumps({"steps": steps, "calls": calls}), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


sys.argv = [script]
sys.path.insert(0, str(Path(script).resolve().parent))
if arm == "bundle":
    session = __import__("runtime.train.training", fromlist=["TrainingSession"]).TrainingSession
    for method_name in ("note_pass", "on_pre_optimizer_step", "on_step_end", "on_log", "on_save"):
        watch(session, method_name)
replaced: Any = Trainer
replaced.train = train_timed
runpy.run_path(script, run_name="__main__")
