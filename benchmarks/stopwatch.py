"""Run an unmodified training script and measure it.

    LAUNCHED=$(date +%s.%N) accelerate launch benchmarks/stopwatch.py REPORT HELD SCRIPT ARGS...

Adds a callback to the script's Trainer, and counts the tokens of its batches without padding. The
report has: seconds from LAUNCHED to the end of the first optimizer step; from there to the last
step the seconds, CPU seconds, tokens and steps; the peak memory of the process in bytes; and the
loss per token on HELD (rows of `input_ids` and `labels`, or `-` for none) at ten points, with the
tokens and seconds of training up to that point. Without HELD no checkpoint is saved, because
saving them would distort a short run.
"""

import json
import math
import os
import resource
import runpy
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback
from transformers.trainer_utils import SaveStrategy

POINTS = 10
NOT_LEARNED = -100
report_file, held_file, script, *arguments = sys.argv[1:]
held_lines = [] if held_file == "-" else Path(held_file).read_bytes().splitlines()
held = [json.loads(line) for line in held_lines]
launched = float(os.environ["LAUNCHED"])
seen: dict[str, Any] = {"tokens": 0, "paused": 0.0, "paused_cpu": 0.0, "curve": []}


def processor_seconds() -> float:
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def count_tokens(inputs: Any) -> int:
    """Return the tokens of a batch without padding; after packed rows, positions are 0."""
    if "attention_mask" in inputs:
        return int(inputs["attention_mask"].sum())
    empty = (inputs["position_ids"].flip(-1).cumsum(-1) == 0).sum()
    return int(inputs["input_ids"].numel() - empty)


def held_out_loss(model: Any) -> float:
    """Return the mean loss per learned token on the held-out rows."""
    nats, tokens = 0.0, 0
    was_training = model.training
    model.eval()
    with torch.no_grad():
        for row in held:
            ids, labels = torch.tensor([row["input_ids"]]), torch.tensor(row["labels"])[1:]
            logits = model(input_ids=ids, use_cache=False).logits[0, :-1].float()
            nats += torch.nn.functional.cross_entropy(
                logits, labels, ignore_index=NOT_LEARNED, reduction="sum"
            ).item()
            tokens += int((labels != NOT_LEARNED).sum())
    model.train(was_training)
    return nats / tokens


class Stopwatch(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Records when optimizer steps end, and evaluates held-out rows with the clock stopped."""

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Record the end of a step; the run itself is not changed."""
        del args, control
        step, steps = state.global_step, state.max_steps
        now = time.perf_counter() - seen["paused"], processor_seconds() - seen["paused_cpu"]
        seen["end"] = (*now, seen["tokens"])
        if step == 1:
            seen["first"] = time.time() - launched
            seen["start"] = seen["end"]
        seen["steps"] = step - 1
        if held and (step == 1 or step % math.ceil(steps / POINTS) == 0 or step == steps):
            begun, begun_cpu = time.perf_counter(), processor_seconds()
            loss = held_out_loss(kwargs["model"])
            seen["curve"].append((seen["tokens"], now[0] - seen["start"][0], loss))
            seen["paused"] += time.perf_counter() - begun
            seen["paused_cpu"] += processor_seconds() - begun_cpu


make, step_once = Trainer.__init__, Trainer.training_step


def make_watched(self: Any, *args: Any, **kwargs: Any) -> None:
    """Make the Trainer, and add the callback."""
    make(self, *args, **kwargs)
    self.add_callback(Stopwatch())
    if not held:
        self.args.save_strategy = SaveStrategy.NO


def step_counted(self: Any, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """Count the tokens of a micro-batch before it is processed."""
    seen["tokens"] += count_tokens(inputs)
    return step_once(self, model, inputs, *args, **kwargs)


Watched: Any = Trainer
Watched.__init__, Watched.training_step = make_watched, step_counted
sys.argv = [script, *arguments]
sys.path.insert(0, str(Path(script).resolve().parent))
report_path = Path(report_file).resolve()
runpy.run_path(script, run_name="__main__")
(begun, begun_cpu, before), (ended, ended_cpu, after) = seen["start"], seen["end"]
report = {
    "first_step_seconds": seen["first"],
    "seconds": ended - begun,
    "processor_seconds": ended_cpu - begun_cpu,
    "tokens": after - before,
    "steps": seen["steps"],
    "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "curve": seen["curve"],
}
report_path.write_text(json.dumps(report), encoding="utf-8")
