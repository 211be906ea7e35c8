"""A training run that can be resumed: checkpoints, signals, memory, divergence and exit codes.

The exit code, one of `exit_codes` or 1, is also written to run/train/exit_code.json, because
launchers do not pass it on.
"""

import itertools
import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import torch
from transformers.trainer_callback import PrinterCallback, TrainerCallback

from .. import events, stages
from ..exit_codes import DIVERGED, OUT_OF_MEMORY, PREEMPTED
from ..files import read_json, write_json, write_lines
from ..libraries import list_versions
from ..run import Run
from ..upstream.trainer_parts import begin_epochs, note_passes
from . import checkpoints
from .pilot import Pilot, count_tokens
from .progress import Progress, peak_memory_bytes

EXPLODED = 5  # times the first loss, or 5 if that is below 1
EXPLODED_LOGS = 2  # in a row with such a loss, since one batch may be odd
LOG_SECONDS = 10  # at most between two lines of log.jsonl, or one step if that takes longer
SEARCH_SECONDS = 5  # for the rows of a batch; after LOG_SECONDS the other processes leave

#: Names of logged numbers in messages.
SHOWN = {
    "loss": "training loss",
    "eval_loss": "validation loss",
    "reward": "mean reward",
    "eval_reward": "validation reward",
    "eval_macro_f1": "validation macro-F1",
}
LOSSES = {"train": "loss", "validation": "eval_loss"}  # the curves of curve.json
SPECIAL_TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id")
MEMORY_WORDS = ("can't allocate memory", "Cannot allocate memory", "bad_alloc")


def make_savable(model: Any) -> None:
    """Remove settings for answers that transformers loads but does not save again.

    An example is a temperature without `do_sample`. They are of no use in training, and the merged
    model gets the file of its base.
    """
    settings = getattr(model, "generation_config", None)
    if settings is None:  # of a model that writes no text
        return
    try:
        settings.validate(strict=True)
    except ValueError:
        kept = {key: getattr(settings, key) for key in SPECIAL_TOKENS}
        model.generation_config = type(settings)(**kept)


class TrainingSession(TrainerCallback):
    """Resumes training and ends it in order; one of the Trainer's callbacks.

    `identity` is that of the stage, None for a pilot. `ladder` lists [rows per pass, passes per
    step], the same batch in less and less memory. `row` selects a line, by default the one that
    memory has allowed so far. `keep` is the number of checkpoints, `planned_bytes` the planned
    peak. `tracker` is one of `tracking`. A `pilot` takes a few steps in a separate folder, and
    ends the process with exit code 0. `place` is the folder, relative to the bundle's.
    """

    def __init__(
        self,
        run: Run,
        *,
        identity: stages.Identity | None = None,
        ladder: Sequence[Sequence[int]],
        row: int | None,
        planned_bytes: int,
        keep: int,
        tracker: Any = None,
        pilot: bool = False,
    ) -> None:
        self.run, self.ladder, self.keep = run, ladder, keep
        self.planned_bytes, self.tracker = planned_bytes, tracker
        self.pilot = Pilot(run) if pilot else None
        if pilot:
            run.stage = "pilot"  # in the events; there is no record of it
        self.place = "run/pilot" if pilot else "run/train"
        self.folder = run.bundle / self.place
        self.checkpoints = self.folder / "checkpoints"
        self.row = self._read_batch()["row"] if row is None else min(row, len(ladder) - 1)
        self.micro_batch, self.accumulation = ladder[self.row]
        self.checkpoint: str | None = None
        self.identity = identity
        self.sealer = checkpoints.Sealer(run.processes)
        self.stop_signal, self.progress = threading.Event(), Progress()
        self._launcher, self._logged = os.getppid(), time.monotonic()
        self._loss: torch.Tensor | float = 0.0  # of the last step
        self._passes: list[tuple[Any, torch.Tensor]] = []  # of this step: inputs and loss

    # -------------------------------------------------------------------------
    # Begin and end

    def begin(self) -> None:
        """Prepare to resume: lock the run folder, and set aside what other inputs led to."""
        self.run.read_rows(self.run.folder / "data/train.jsonl", 0)  # ends the stage if missing
        self.prepare()
        self.handle_signals()

    def prepare(self) -> None:
        """Lock the run folder, set aside what other inputs led to, and find the checkpoint."""
        self.run.begin()
        self.run.check_inputs("prepare")
        note = self.folder / "fingerprint.json"
        mark = self.identity and self.identity.fingerprint
        if note.is_file() and read_json(note) != mark:
            names = (self.run.folder / f"train-{number}" for number in itertools.count(1))
            aside = next(path for path in names if not path.exists())
            self.folder.rename(aside)
            self.run.say(f"train: its inputs have changed; the earlier training is in {aside.name}")
        write_json(note, mark)
        write_json(self.folder / "batch.json", {**self._read_batch(), "row": self.row})
        (self.folder / "exit_code.json").unlink(missing_ok=True)
        self.checkpoint = self.find_checkpoint()

    def find_checkpoint(self) -> str | None:
        """Return the newest valid checkpoint, relative to the bundle, or None."""
        found, damaged = checkpoints.find_valid(
            self.checkpoints, run_folder=self.run.folder, processes=self.run.processes
        )
        for path in damaged:
            self.run.say(f"{path.name} is incomplete or damaged, and is not used")
        if found is None:
            return None
        name = found.relative_to(self.run.bundle).as_posix()
        self.run.say(f"resuming from {name}")
        return name

    def handle_signals(self) -> None:
        """Make SIGTERM, SIGUSR1 and Ctrl-C stop training after a step; Ctrl-C twice ends it."""
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            signal.signal(number, self._remember)
        os.register_at_fork(after_in_child=self.run.release_lock)  # workers do not hold the lock
        if self.tracker is not None and self.pilot is None:
            self.tracker.begin(self.run)

    def _remember(self, number: int, _frame: Any) -> None:
        if number == signal.SIGINT and self.stop_signal.is_set():
            os._exit(130)
        self.stop_signal.set()

    def choose(self, rows: Any, count: Callable[[Any], Any] = count_tokens) -> Any:
        """Return the rows to train on: all of them, or those that a pilot takes.

        `count` is `pair_lengths.count_pair_tokens` for pairs of answers.
        """
        if self.pilot is None:
            return rows
        step_rows = self.micro_batch * self.accumulation * self.run.processes
        return self.pilot.choose(rows, step_rows, count)

    @contextmanager
    def resume(self, trainer: Any) -> Iterator[str | None]:
        """Give the checkpoint to resume from; leave with an exit code if training ends early.

        A pilot leaves at its end.
        """
        if self.pilot is not None:
            self.pilot.attach(trainer)
        trainer.remove_callback(PrinterCallback)
        make_savable(trainer.model)
        note_passes(trainer, self.note_pass)
        begin_epochs(trainer)
        step = f"{self.micro_batch} rows x {self.accumulation} passes"
        self.run.say(f"a step is {step} x {trainer.args.world_size} processes")
        try:
            yield self.checkpoint
        except Exception as error:
            self.explain(error, trainer)
            raise
        state = trainer.state
        if not self.stop_signal.is_set() or state.global_step >= state.max_steps:
            if self.pilot is not None:
                self.end_pilot(self.pilot, trainer.args)
            return
        if self.run.rank != 0:
            os._exit(PREEMPTED)
        where = f"step {state.global_step:,} of {state.max_steps:,}"
        self.leave(PREEMPTED, f"stopped by a signal at {where}; {self.describe_saved()}")

    def end_pilot(self, pilot: Pilot, args: Any) -> NoReturn:
        """Report what all processes have measured, and leave; the next pilot starts anew."""
        found = self.gather(pilot.measure(args))
        if self.run.rank == 0:
            pilot.report(args, found, row=self.row, changes=self._read_batch()["changes"])
            (self.folder / "batch.json").unlink(missing_ok=True)
        raise SystemExit

    def finish(
        self,
        trainer: Any,
        *,
        fault: str | None,
        curves: Mapping[str, str] = LOSSES,
        **more: Any,
    ) -> None:
        """Write curve.json, check the losses and the saved weights, and record the stage.

        `fault` is what is wrong with the saved weights. `curves` are names of logged numbers.
        """
        history, on_gpu = trainer.state.log_history, trainer.args.device.type == "cuda"
        found = {
            name: [(log["step"], log[key]) for log in history if key in log]
            for name, key in curves.items()
        }
        peak_bytes = peak_memory_bytes(trainer.args)
        curve: dict[str, Any] = {name: x for name, x in found.items() if x or name == "train"}
        curve |= {**more, "peak_bytes": peak_bytes, "planned_bytes": self.planned_bytes}
        curve["versions"] = list_versions()
        if on_gpu:
            curve["allocated_bytes"] = torch.cuda.max_memory_allocated()
        write_json(self.folder / "curve.json", curve)
        sizes = f"{peak_bytes / 2**30:.2f} GiB, planned {self.planned_bytes / 2**30:.2f}"
        self.run.say(f"peak memory {sizes}")
        losses = [loss for name in LOSSES for _, loss in found.get(name, [])]
        is_finite = bool(losses) and all(math.isfinite(loss) for loss in losses)
        self.run.ensure(is_finite, "every loss is a finite number")
        if curves is LOSSES:
            self.run.ensure(losses[0] != 0, "the first loss is not zero: some tokens are learned")
        else:
            differ = any(log.get("reward_std") for log in history)
            self.run.ensure(differ, "some answers got a higher reward than others")
        if fault is not None:
            self.run.stop(f"the saved weights are wrong: {fault}")
        assert self.identity is not None  # noqa: S101 - a pilot ends before
        outputs = self.folder / "model", self.folder / "curve.json"
        self.run.mark_done(self.identity, *outputs, trained=True)

    # -------------------------------------------------------------------------
    # Callbacks of the Trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Log the batch and how the best checkpoint is chosen."""
        noted = {"micro_batch": args.per_device_train_batch_size, "processes": args.world_size}
        if args.load_best_model_at_end:
            by = {"best_by": args.metric_for_best_model, "higher_is_better": args.greater_is_better}
            noted |= by
        self.progress.begin(state.global_step)
        self.log(state, event="began", **noted)
        control.should_training_stop = state.global_step >= state.max_steps  # resumed at its end
        if self.pilot is not None:
            self.pilot.note_step(args, state)

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Log and print; leave if the loss has exploded."""
        logs = kwargs["logs"]
        self.log(state, **logs, memory_bytes=peak_memory_bytes(args))
        if self.run.rank != 0:
            return
        self.progress.clear()
        self.progress.logged |= logs
        where = f"step {state.global_step:,} of {state.max_steps:,}, epoch {state.epoch:.2f}"
        hidden = {"loss", "eval_loss"} if {"reward", "eval_reward"} & logs.keys() else set()
        for name, words in SHOWN.items():
            if name in logs and name not in hidden:
                self.run.say(f"{where}: {words} {logs[name]:.4f}")
        losses = [log["loss"] for log in state.log_history if "loss" in log]
        if losses and min(losses[-EXPLODED_LOGS:]) > EXPLODED * max(losses[0], 1.0):
            said = f"the loss has exploded, from {losses[0]:.4f} to {losses[-1]:.4f}"
            self.leave_diverged(f"{where}: {said}")
        if not math.isfinite(logs.get("eval_loss", 0.0)):
            self.leave_diverged(f"{where}: the validation loss is {logs['eval_loss']}")

    def note_pass(self, inputs: Any, loss: torch.Tensor) -> None:
        """Keep the batch and the loss of a pass until the step is taken, and count its tokens."""
        self._passes.append((inputs, loss))
        self.progress.tokens += count_batch_tokens(inputs)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Look at the loss of every pass; stop with a checkpoint after this step if asked to."""
        passes, self._passes = self._passes, []
        losses = torch.stack([loss for _, loss in passes])
        finite, self._loss = losses.isfinite().tolist(), losses.sum()
        stops, is_diverged = self.agree(self.should_stop(), not all(finite))
        if not all(finite):
            wrong = finite.index(False)
            inputs, loss = passes[wrong]
            where = f"step {state.global_step + 1:,}: the loss of pass {wrong + 1}"
            self.leave_diverged(f"{where} of {len(passes)} is {loss.item()}", inputs)
        if is_diverged:  # on another process, which reports it
            time.sleep(LOG_SECONDS)
            os._exit(DIVERGED)
        if stops:
            self.stop_signal.set()
            control.should_save, control.should_training_stop = self.pilot is None, True

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Log and print where training is if nothing else did for a while."""
        if self.pilot is not None:
            self.pilot.note_step(args, state)
        if self.run.rank == 0 and self.progress.is_due():
            memory_bytes = peak_memory_bytes(args)
            self.progress.update(state, loss=float(self._loss), memory_bytes=memory_bytes)
        if time.monotonic() - self._logged >= LOG_SECONDS:
            self.log(state, loss=float(self._loss), memory_bytes=peak_memory_bytes(args))

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Seal the checkpoint that was just written, and delete old ones."""
        saved = self.checkpoints / f"checkpoint-{state.global_step}"
        self.sealer.seal(saved)
        self.sealer.prune(saved, state.best_model_checkpoint, self.keep)

    def log(self, state: Any, **measured: Any) -> None:
        """Append what was measured at this step to run/train/log.jsonl, by the first process."""
        if state.is_world_process_zero:
            self._logged = time.monotonic()
            where = {"step": state.global_step, "steps": state.max_steps, "epoch": state.epoch}
            events.append(self.folder / "log.jsonl", **{**where, **measured})

    # -------------------------------------------------------------------------
    # Ends before the last step

    def agree(self, *flags: bool) -> Sequence[bool]:
        """Return for each flag whether any process has set it; here there is one process."""
        return flags

    def gather(self, numbers: Mapping[str, float]) -> Sequence[Mapping[str, float]]:
        """Return the numbers of every process; here there is one."""
        return [numbers]

    def should_stop(self) -> bool:
        """Return whether to stop: by a signal, by run.sh, or because the launcher is gone."""
        is_stopped = self.stop_signal.is_set() or (self.run.folder / "stop").exists()
        return is_stopped or os.getppid() != self._launcher

    def explain(self, error: Exception, trainer: Any) -> None:
        """Leave if memory or the disk is full; return for any other error."""
        if trouble := self.run.describe_disk_error(error):
            self.leave(1, f"{trouble}; {self.describe_saved()}")
        if not is_out_of_memory(error, on_gpu=trainer.args.device.type == "cuda"):
            return
        step, (rows, _) = trainer.state.global_step, self.ladder[self.row]
        held_bytes = peak_memory_bytes(trainer.args)
        sizes = f"{held_bytes / 2**30:.2f} GiB used, {self.planned_bytes / 2**30:.2f} GiB planned"
        said = f"out of memory at step {step + 1:,} with {rows} rows per pass: {sizes}"
        if self.row + 1 >= len(self.ladder):
            advice = "set a smaller data.max_length or a method that needs less memory in the spec"
            less = f"fewer rows are not possible: {advice}, and compile again ({error})"
            self.leave(1, f"{said}; {less}")
        noted = self._read_batch()
        change = {"step": step, "from": self.ladder[self.row], "to": self.ladder[self.row + 1]}
        sizes_bytes = {"held_bytes": held_bytes, "planned_bytes": self.planned_bytes}
        noted["changes"].append({**change, **sizes_bytes})
        write_json(self.folder / "batch.json", {**noted, "row": self.row + 1})
        rows, passes = self.ladder[self.row + 1]
        batch = f"next with {rows} x {passes} passes, the same batch"
        self.leave(OUT_OF_MEMORY, f"{said}; {batch} ({error})")

    def leave_diverged(self, sentence: str, inputs: Any = ()) -> NoReturn:
        """Leave because a loss is not finite or has exploded; nothing more is saved."""
        advice = "check the rows, or set a lower training.learning_rate and compile again"
        self.leave(DIVERGED, f"{sentence}; {advice}; {self.describe_saved()}", inputs)

    def leave(self, code: int, sentence: str, inputs: Any = ()) -> NoReturn:
        """End the process at once, whatever other threads wait for, with an exit code.

        `inputs` is the batch that is the cause. Its rows are searched for last: it takes time.
        """
        print(f"train.py: {sentence}", file=sys.stderr, flush=True)
        event = "stopped" if code == PREEMPTED else "failed"
        with suppress(OSError, ValueError):  # the disk may be full
            write_lines(self.folder / "exit_code.json", [f"{code}\n".encode()])
            if found := self.find_rows(inputs):
                said = f"its batch has the lines {found} of run/data/train.jsonl"
                print(f"train.py: {said}", file=sys.stderr, flush=True)
                sentence += f"; {said}"
        self.run.end.update(event=event, code=code, sentence=sentence)
        with suppress(OSError):
            self.run.finish()
        if self.tracker is not None and self.pilot is None:
            self.tracker.end(code)
        (self.run.folder / "stop").unlink(missing_ok=True)
        os._exit(code)

    def describe_saved(self) -> str:
        """Return which checkpoint is saved and how to resume, as a clause."""
        if self.pilot is not None:
            return "./run.sh --pilot starts again"
        newest = checkpoints.find_sealed(self.checkpoints)
        if newest is None:
            return "no checkpoint is saved yet: ./run.sh starts again"
        return f"{newest.relative_to(self.run.bundle)} is saved: ./run.sh resumes from it"

    def find_rows(self, inputs: Any) -> list[int]:
        """Return lines of train.jsonl that are in a batch, of those read in SEARCH_SECONDS."""
        names = [name for name in inputs if str(name).endswith("input_ids")]  # of tensors
        batch = [row for name in names for row in inputs[name].tolist()]
        tokens = " ".join(f" {' '.join(map(str, ids))} " for ids in batch)
        found, until = [], time.monotonic() + SEARCH_SECONDS
        with (self.run.folder / "data/train.jsonl").open(encoding="utf-8") as file:
            for number, line in enumerate(file if tokens else (), 1):
                row = json.loads(line)
                columns = ("input_ids", "chosen_ids", "completion_ids")  # of vectors, the longest
                lists = (row[name] for name in columns if name in row)
                if any(f" {' '.join(map(str, ids))} " in tokens for ids in lists):
                    found.append(number)
                if time.monotonic() > until:
                    break
        return found[:16]

    def _read_batch(self) -> dict[str, Any]:
        """Return the line of the ladder that memory has allowed so far, and why it was changed."""
        with suppress(OSError, ValueError):
            found: dict[str, Any] = read_json(self.folder / "batch.json")
            if found["ladder"] == [list(line) for line in self.ladder]:
                return found
        return {"row": 0, "ladder": self.ladder, "changes": []}


def count_batch_tokens(inputs: Any) -> int:
    """Return the number of tokens of a batch, padding included; 0 if it has no tensors."""
    names = [name for name in inputs if str(name).endswith("input_ids")]
    return sum(int(inputs[name].numel()) for name in names)


def is_out_of_memory(error: Exception, *, on_gpu: bool) -> bool:
    """Return whether an error means that the memory of the device is used up."""
    if on_gpu:
        return isinstance(error, torch.OutOfMemoryError) or "out of memory" in str(error)
    return isinstance(error, MemoryError) or any(word in str(error) for word in MEMORY_WORDS)
