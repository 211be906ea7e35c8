"""A training session of several processes: joint decisions, and a watchdog for hangs."""

import itertools
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from ..exit_codes import HUNG
from ..files import read_json, sync, write_json
from ..train import checkpoints
from ..train.training import TrainingSession

# Without progress on any process; collectives of torch wait for 1,800 s.
HUNG_SECONDS = 1200


class DistributedSession(TrainingSession):
    """A session in which every process stops at the same step, and a hang ends the job.

    The environment variable HUNG_SECONDS replaces the time without progress after which the job
    ends. Every process writes a heartbeat to run/train/beats.
    """

    hung_seconds = HUNG_SECONDS
    moves, moved, is_over = 0, 0.0, False  # how often, and when, this process made progress

    def prepare(self) -> None:
        """Prepare on the first process; the others resume from the checkpoint that it found."""
        note = self.folder / "resume.json"
        if self.run.rank == 0:
            super().prepare()
            write_json(note, self.checkpoint)
        else:
            self.checkpoint = read_json(note)

    def agree(self, *flags: bool) -> Sequence[bool]:
        """Return for each flag whether any process has set it, at the same step on all of them."""
        device = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
        found = torch.tensor([float(flag) for flag in flags], device=device)
        torch.distributed.all_reduce(found)
        return [count > 0 for count in found.tolist()]

    def gather(self, numbers: Mapping[str, float]) -> Sequence[Mapping[str, float]]:
        """Return the numbers of every process, in the order of their ranks."""
        found: list[Any] = [None] * self.run.processes
        torch.distributed.all_gather_object(found, dict(numbers))
        return found

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Seal the checkpoint once every process has its part on the disk."""
        folder = self.checkpoints / f"checkpoint-{state.global_step}"
        for path in checkpoints.list_files(folder):  # those of this process are among them
            with suppress(FileNotFoundError):  # another process has just renamed it
                sync(path)
        torch.distributed.barrier()
        if self.run.rank == 0:
            super().on_save(args, state, control, **kwargs)
        torch.distributed.barrier()  # the first process to leave would end the others
        self.note_progress()

    # -------------------------------------------------------------------------
    # Hangs

    def note_progress(self, *_: Any, **__: Any) -> None:
        """Note that this process has made progress."""
        self.moves, self.moved = self.moves + 1, time.monotonic()

    on_step_begin = on_substep_end = on_prediction_step = note_progress

    def note_token(self, *_: Any) -> None:
        """Note progress unless the model is being compiled, which would record it."""
        if not torch.compiler.is_compiling():
            self.note_progress()

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the heartbeat of this process."""
        super().on_train_begin(args, state, control, **kwargs)
        if hasattr(kwargs["model"], "get_input_embeddings"):  # it is used for each generated token
            kwargs["model"].get_input_embeddings().register_forward_hook(self.note_token)
        self.hung_seconds = int(os.environ.get("HUNG_SECONDS", str(HUNG_SECONDS)))
        self.moves, self.moved, self.is_over = 0, time.monotonic(), False
        threading.Thread(target=self._watch, daemon=True).start()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop the heartbeat."""
        self.is_over = True

    def _watch(self) -> None:
        """Write heartbeats, and end the job if no process makes progress for a long time."""
        note, main = self.folder / f"beats/{self.run.rank}.json", threading.main_thread().ident
        who = f"rank {self.run.rank} (process {os.getpid()} on {socket.gethostname()})"
        beats: deque[dict[str, Any]] = deque(maxlen=4)  # of all processes
        for beat in itertools.count():
            frame = sys._current_frames()[main or 0]  # noqa: SLF001 - documented, for debuggers
            where = f"{frame.f_code.co_name} of {Path(frame.f_code.co_filename).name}"
            with suppress(OSError, ValueError):
                own = {"who": who, "beat": beat, "moves": self.moves, "where": where}
                write_json(note, own)
                notes = note.parent.glob("*.json")
                beats.append({path.stem: read_json(path) for path in notes})
            time.sleep(self._beat_seconds)
            if self.is_over:
                return
            if time.monotonic() - self.moved > self.hung_seconds:
                self._leave_hung(beats[0], beats[-1])

    def _leave_hung(self, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        """Leave, and name the process that the others wait for: a silent one, or the last one."""
        alive = [rank for rank, beat in now.items() if before.get(rank) != beat]
        silent = [beat["who"] for rank, beat in now.items() if rank not in alive]
        least = min(beat["moves"] for beat in now.values())
        late = [f"{x['who']} in {x['where']}" for x in now.values() if x["moves"] == least]
        who = f"no heartbeat of {', '.join(silent)}" if silent else f"behind: {', '.join(late)}"
        if str(self.run.rank) == min(alive, default="0", key=int):
            said = f"no process made progress for {self.hung_seconds:,} s; {who}"
            self.leave(HUNG, f"{said}; {self.describe_saved()}")
        time.sleep(self._beat_seconds)
        os._exit(HUNG)

    @property
    def _beat_seconds(self) -> float:
        return min(30, self.hung_seconds / 8)
