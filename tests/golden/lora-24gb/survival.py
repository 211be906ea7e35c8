"""What training survives: a kill, a signal, too little memory, a full disk, a process that hangs.

Only train.py reads this. A checkpoint counts when it is sealed: its last file notes size and
SHA-256 of every other, once all of them are on the disk; nothing older is deleted before that, and
nothing is loaded that is not so. What ends training early leaves with a code that run.sh knows.
"""

import contextlib
import hashlib
import itertools
import json
import math
import os
import shutil
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from transformers.trainer_callback import TrainerCallback

import guard
import journal

FOLDER = guard.RUN / "train"
CHECKPOINTS = FOLDER / "checkpoints"
SEAL = "manifest.json"  # the last file of a checkpoint
STOP = guard.RUN / "stop"  # run.sh makes it when it is told to stop; every process looks for it
LAUNCHER = os.getppid()

# run.sh starts training again after the first two (75 is EX_TEMPFAIL of sysexits.h).
PREEMPTED = 75
OUT_OF_MEMORY = 76
DIVERGED = 77
EXPLODED = 5  # times the loss at the beginning, or 5 where that is below 1

# What is said as training goes, by the trainer's names.
SHOWN = {
    "loss": "training loss",
    "eval_loss": "validation loss",
}

stop_signal = threading.Event()

# -----------------------------------------------------------------------------
# The loop


class Progress(TrainerCallback):
    """Says how far training is, looks at every loss, seals checkpoints, and stops when told to."""

    def __init__(self, keep):
        self.keep, self.passes = keep, []

    def attend(self, trainer):
        """Keep the loss of every pass of a step, and what went in; take no step beyond the last."""
        pass_once, run_epoch = trainer.training_step, trainer._run_epoch

        def training_step(model, inputs, *args, **kwargs):
            loss = pass_once(model, inputs, *args, **kwargs)
            self.passes.append((inputs, loss))
            return loss

        def run_what_is_left(**kwargs):
            if trainer.state.global_step < trainer.state.max_steps:
                run_epoch(**kwargs)  # which looks only after a step whether it was the last

        trainer.training_step, trainer._run_epoch = training_step, run_what_is_left

    def on_train_begin(self, args, state, control, **kwargs):
        batch = {"micro_batch": args.per_device_train_batch_size, "processes": args.world_size}
        journal.log(state, event="began", **batch)

    def on_log(self, args, state, control, logs, **kwargs):
        journal.log(state, **logs, memory_bytes=peak_memory_bytes())
        where = f"step {state.global_step:,} of {state.max_steps:,}, epoch {state.epoch:.2f}"
        for name, words in SHOWN.items():
            if name in logs:
                guard.say(f"{where}: {words} {logs[name]:.4f}")
        losses = [log["loss"] for log in state.log_history if "loss" in log]
        if losses and losses[-1] > EXPLODED * max(losses[0], 1.0):
            diverge(f"{where}: the loss has exploded, from {losses[0]:.4f} to {losses[-1]:.4f}")
        if not math.isfinite(logs.get("eval_loss", 0.0)):
            diverge(f"{where}: the validation loss is {logs['eval_loss']}")

    def on_step_end(self, args, state, control, **kwargs):
        if journal.is_due():
            journal.log(state, memory_bytes=peak_memory_bytes())

    def on_pre_optimizer_step(self, args, state, control, **kwargs):
        passes, self.passes = self.passes, []
        finite = torch.stack([loss for _, loss in passes]).isfinite().tolist()
        stops, diverges = is_told(), not all(finite)
        if diverges:
            wrong = finite.index(False)
            inputs, loss = passes[wrong]
            diverge(
                f"step {state.global_step + 1:,}: the loss of pass {wrong + 1} of {len(passes)} is"
                f" {loss.item()}{find_rows(inputs)}"
            )
        if stops:
            stop_signal.set()
            control.should_save = control.should_training_stop = True

    def on_save(self, args, state, control, **kwargs):
        seal(CHECKPOINTS / f"checkpoint-{state.global_step}")
        let_go(state.best_model_checkpoint, self.keep)


def find_rows(inputs):
    """Say which rows of the training split a batch is made of, as far as its tokens tell."""
    names = [name for name in inputs if str(name).endswith("input_ids")]  # of tensors
    tensors = [inputs[name] for name in names]
    tokens = " ".join(f" {' '.join(map(str, row))} " for ids in tensors for row in ids.tolist())
    rows = []
    for number, row in enumerate(guard.read_rows(guard.RUN / "data" / "train.jsonl"), 1):
        lists = (row[name] for name in ("input_ids", "chosen_ids", "completion_ids") if name in row)
        if any(f" {' '.join(map(str, ids))} " in tokens for ids in lists):
            rows.append(number)
    return f"; in its batch are the lines {rows[:16]} of run/data/train.jsonl" if rows else ""


# -----------------------------------------------------------------------------
# The folder and its checkpoints


def begin(mark, row, ladder):
    """Make run/train ready, and return the checkpoint to go on from, or None.

    What comes of other inputs is put aside, never mixed in. The batch is noted for killed.py.
    """
    note = FOLDER / "fingerprint.json"
    guard.lock()
    guard.check_inputs("data")
    if note.is_file() and json.loads(note.read_text()) != mark:
        names = (guard.RUN / f"train-{number}" for number in itertools.count(1))
        aside = next(path for path in names if not path.exists())
        FOLDER.rename(aside)
        guard.say(f"train: what it reads has changed; the training before is kept in {aside.name}")
    guard.write_json(note, mark)
    guard.write_json(FOLDER / "batch.json", {**read_batch(ladder), "row": row})
    (FOLDER / "exit_code.json").unlink(missing_ok=True)
    checkpoint = last_checkpoint()
    return checkpoint


def numbered():
    """Return the folders of checkpoints, the newest first, by their steps: clocks may jump."""
    found = [path for path in CHECKPOINTS.glob("checkpoint-*") if path.name[11:].isdigit()]
    return sorted(found, key=lambda path: int(path.name[11:]), reverse=True)


def last_checkpoint():
    """Return the path of the newest checkpoint whose files are the ones it was sealed with."""
    for path in numbered():
        if is_sealed(path):
            state = json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
            best = state["best_model_checkpoint"]  # is loaded at the end
            if not best or not Path(best).exists() or is_sealed(Path(best)):
                guard.say(f"going on from {path.relative_to(guard.HERE)}")
                return path.relative_to(guard.HERE).as_posix()
        guard.say(f"{path.name} is not whole, and is not read")
    return None


def seal(checkpoint):
    """Note what a checkpoint is made of, once all of that is on the disk."""
    files = sorted(path for path in checkpoint.rglob("*") if path.is_file() and path.name != SEAL)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        digests = list(pool.map(digest, files))
    for folder in {path.parent for path in files} | {CHECKPOINTS}:
        guard.sync(folder)
    names = [path.relative_to(checkpoint).as_posix() for path in files]
    noted = {"processes": 1, "files": dict(zip(names, digests, strict=True))}
    guard.write_json(checkpoint / SEAL, noted)


def digest(path):
    """Return the size and the SHA-256 of a file that is now on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return [path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()]


def is_sealed(checkpoint):
    """Whether a checkpoint lies in the run folder and is what was sealed, to the bit."""
    try:
        noted = json.loads((checkpoint / SEAL).read_text(encoding="utf-8"))
        files = [path for path in checkpoint.rglob("*") if not path.is_dir() and path.name != SEAL]
        names = [path.relative_to(checkpoint).as_posix() for path in files]
        if noted["processes"] != 1 or set(names) != set(noted["files"]):
            return False
        home = guard.RUN.resolve()
        if not all(path.resolve().is_relative_to(home) for path in files):
            return False
        sizes = [path.stat().st_size for path in files]
        if sizes != [noted["files"][name][0] for name in names]:
            return False
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(digest, files))
    except (OSError, ValueError, KeyError):
        return False
    return dict(zip(names, found, strict=True)) == noted["files"]


def let_go(best, keep):
    """Delete all but the newest sealed checkpoints; the best one counts among those that stay."""
    sealed = [path for path in numbered() if (path / SEAL).is_file()]
    names = {sealed[0].name, Path(best or "").name}
    first = [path for path in sealed if path.name in names]
    kept = (first + [path for path in sealed if path not in first])[: max(keep, len(first))]
    for path in numbered():
        if path not in kept and int(path.name[11:]) < int(sealed[0].name[11:]):
            (path / SEAL).unlink(missing_ok=True)  # first, so that a half is not taken for a whole
            shutil.rmtree(path)


# -----------------------------------------------------------------------------
# The ways to end early


def watch_signals():
    """Remember signals that tell to stop, instead of dying of them; Ctrl-C twice ends at once."""
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        signal.signal(number, _remember)


def _remember(number, _frame):
    if number == signal.SIGINT and stop_signal.is_set():
        os._exit(130)
    stop_signal.set()


def is_told():
    """Whether this process is to stop: by a signal, by run.sh, or because its launcher is gone."""
    return stop_signal.is_set() or STOP.exists() or os.getppid() != LAUNCHER


def explain(error, state, row, ladder, planned_bytes):
    """Leave if memory or disk ran out; any other error is the caller's."""
    if trouble := guard.disk_trouble(error):
        leave(1, f"{trouble}; {go_on()}")
    if not isinstance(error, torch.OutOfMemoryError) and "out of memory" not in str(error):
        return
    held_bytes, (rows, passes) = peak_memory_bytes(), ladder[row]
    sizes = f"{held_bytes / 2**30:.2f} GiB were held, {planned_bytes / 2**30:.2f} GiB were planned"
    said = f"out of memory at step {state.global_step + 1:,} with {rows} rows per pass: {sizes}"
    if row + 1 >= len(ladder):
        less = "set a smaller data.max_length or a method that needs less in the spec, and compile"
        leave(1, f"{said}; fewer rows are not possible: {less} again ({error})")
    noted = read_batch(ladder)
    change = {"step": state.global_step, "from": ladder[row], "to": ladder[row + 1]}
    noted["changes"].append({**change, "held_bytes": held_bytes, "planned_bytes": planned_bytes})
    guard.write_json(FOLDER / "batch.json", {**noted, "row": row + 1})
    rows, passes = ladder[row + 1]
    leave(OUT_OF_MEMORY, f"{said}; next with {rows} x {passes} passes, the same batch ({error})")


def read_batch(ladder):
    """Return the row of the ladder that memory has led to so far, and what was changed for it."""
    noted = {"row": 0, "ladder": ladder, "changes": []}
    with contextlib.suppress(OSError, ValueError):
        found = json.loads((FOLDER / "batch.json").read_text(encoding="utf-8"))
        noted = found if found["ladder"] == ladder else noted
    return noted


def diverge(sentence):
    """Leave because a loss is no number or has exploded; what follows from it is not saved."""
    less = "look at the rows, set a lower training.learning_rate and compile again"
    leave(DIVERGED, f"{sentence}; {less}; {go_on()}")


def leave_if_told(state):
    """Leave if training ended because it was told to, and not because it was done."""
    if not stop_signal.is_set() or state.global_step >= state.max_steps:
        return
    step = f"step {state.global_step:,} of {state.max_steps:,}"
    leave(PREEMPTED, f"told to stop at {step}; {go_on()}")


def go_on():
    """Say what is saved, and how to go on from it."""
    saved = [path for path in numbered() if (path / SEAL).is_file()]
    if not saved:
        return "nothing of training is saved yet: ./run.sh begins it again"
    return f"saved is {saved[0].relative_to(guard.HERE)}; ./run.sh goes on from there"


def peak_memory_bytes():
    """Return the most memory that torch held on this GPU (reserved, which is what can run out)."""
    return torch.cuda.max_memory_reserved()


def leave(code, sentence):
    """End training with a code for run.sh, in a file: the launcher does not pass on exit codes."""
    print(f"train.py: {sentence}", file=sys.stderr, flush=True)
    with contextlib.suppress(OSError):  # the disk may be full
        guard.write_lines(FOLDER / "exit_code.json", [f"{code}\n".encode()])
    event = "stopped" if code == PREEMPTED else "failed"
    journal.end.update(event=event, code=code, sentence=sentence)
    with contextlib.suppress(OSError):
        journal.finish()
    STOP.unlink(missing_ok=True)
    os._exit(code)  # at once, whatever other threads wait for
