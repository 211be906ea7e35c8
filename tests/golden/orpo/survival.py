"""What training survives: being killed, being told to stop, running out of memory.

Only train.py reads this. A checkpoint counts when it was written to its end; what ends training
early leaves with a code that run.sh knows.
"""

import itertools
import json
import os
import signal
import sys
import threading
import zipfile
from pathlib import Path

import torch
from transformers.trainer_callback import TrainerCallback

import guard
import journal

FOLDER = guard.RUN / "train"

# run.sh starts training again after these exit codes (75 is EX_TEMPFAIL of sysexits.h).
PREEMPTED = 75
OUT_OF_MEMORY = 76

# What is said as training goes, by the trainer's names.
SHOWN = {
    "loss": "training loss",
    "eval_loss": "validation loss",
}

stop_signal = threading.Event()

# -----------------------------------------------------------------------------
# The loop


class Progress(TrainerCallback):
    """Says how far training is, and ends it with a checkpoint when the process is told to stop."""

    def on_train_begin(self, args, state, control, **kwargs):
        batch = {"micro_batch": args.per_device_train_batch_size, "processes": args.world_size}
        journal.log(state, event="began", **batch)

    def on_log(self, args, state, control, logs, **kwargs):
        journal.log(state, **logs, memory_bytes=peak_memory_bytes())
        where = f"step {state.global_step:,} of {state.max_steps:,}, epoch {state.epoch:.2f}"
        for name, words in SHOWN.items():
            if name in logs:
                guard.say(f"{where}: {words} {logs[name]:.4f}")

    def on_step_end(self, args, state, control, **kwargs):
        if journal.is_due():
            journal.log(state, memory_bytes=peak_memory_bytes())
        if stop_requested():
            control.should_save = control.should_training_stop = True


# -----------------------------------------------------------------------------
# The folder and its checkpoints


def begin(mark):
    """Lock and make run/train ready: what comes of other inputs is put aside, never mixed in."""
    guard.lock()
    note = FOLDER / "fingerprint.json"
    if note.is_file() and json.loads(note.read_text()) != mark:
        names = (guard.RUN / f"train-{number}" for number in itertools.count(1))
        aside = next(path for path in names if not path.exists())
        FOLDER.rename(aside)
        guard.say(f"train: what it reads has changed; the training before is kept in {aside.name}")
    guard.write_json(note, mark)
    (FOLDER / "exit_code.json").unlink(missing_ok=True)


def last_checkpoint(folder):
    """Return the path of the newest checkpoint that was written to its end, or None."""
    numbered = [path for path in Path(folder).glob("checkpoint-*") if path.name[11:].isdigit()]
    for path in sorted(numbered, key=lambda path: int(path.name[11:]), reverse=True):
        if _is_complete(path):
            guard.say(f"going on from {path}")
            return str(path)
    return None


def _is_complete(checkpoint):
    try:
        state = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    tensors = list(checkpoint.rglob("*.pt")) + list(checkpoint.rglob("*.pth"))
    weights = list(checkpoint.glob("*.safetensors"))
    return (
        checkpoint.name == f"checkpoint-{state['global_step']}"
        and (checkpoint / "optimizer.pt").is_file()
        and bool(weights)
        and all(zipfile.is_zipfile(path) for path in tensors)
        and all(guard.is_whole(path) for path in weights)
    )


# -----------------------------------------------------------------------------
# The ways to end early


def watch_signals():
    """Remember SIGTERM, which schedulers send ahead of the end, instead of dying of it."""
    signal.signal(signal.SIGTERM, lambda *_: stop_signal.set())


def stop_requested():
    """Whether this process was told to stop."""
    return stop_signal.is_set()


def explain(error, micro_batch):
    """Leave if an error of torch says that memory ran out; any other is the caller's."""
    if isinstance(error, torch.OutOfMemoryError) or "out of memory" in str(error):
        leave(OUT_OF_MEMORY, f"out of memory with {micro_batch} rows per pass: {error}")


def leave_if_told(state):
    """Leave if training ended because it was told to, and not because it was done."""
    if stop_signal.is_set() and state.global_step < state.max_steps:
        leave(PREEMPTED, "told to stop: what is saved is where the next start goes on")


def peak_memory_bytes():
    """Return the most memory that torch held on this GPU (reserved, which is what can run out)."""
    return torch.cuda.max_memory_reserved()


def leave(code, sentence):
    """End training with a code for run.sh, in a file: the launcher does not pass on exit codes."""
    print(f"train.py: {sentence}", file=sys.stderr, flush=True)
    (FOLDER / "exit_code.json").write_text(f"{code}\n")
    event = "stopped" if code == PREEMPTED else "failed"
    journal.end.update(event=event, code=code, sentence=sentence)
    journal.finish()
    os._exit(code)  # at once, whatever other threads wait for
