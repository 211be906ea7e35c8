"""The run folder of a bundle: one stage at a time, its events, its errors and its record.

Every script begins with `run = Run(HERE, stage=...)`. Nothing happens before `run.begin()`, which
locks the folder until the process ends. Standard library only.
"""

import atexit
import errno
import fcntl
import itertools
import os
import secrets
import shutil
import socket
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NoReturn

from . import events, files, hub_trouble, stages

_DISK_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of disk space is used up",
    errno.EROFS: "the folder can only be read",
    errno.EACCES: "permission is denied",
}
# Libraries in other languages lose the error number.
_DISK_WORDS = ("No space left", "file write failed", "unexpected pos", "iostream error")


class Run:
    """One stage of a bundle.

    `folder` is the bundle's folder. `stage` names the stage in messages, events and its record,
    run/done/STAGE.json. `script` is the file of the stage, by default STAGE.py.
    """

    def __init__(self, folder: Path, *, stage: str, script: str | None = None) -> None:
        self.bundle = folder
        self.folder = folder / "run"
        self.stage = stage
        self.script = script or f"{stage}.py"
        self.rank = int(os.environ.get("RANK", "0"))  # of this process; 0 writes and prints
        self.processes = int(os.environ.get("WORLD_SIZE", "1"))
        self.end: dict[str, Any] = {"event": "done"}  # unless something changes it
        self.hub_ids: list[str] = []  # of the models that this stage reads from the Hub
        self.lock_file: IO[str] | None = None
        self._started = time.monotonic()
        self._is_finished = False
        # On Hopper and Blackwell, PyTorch prefers attention kernels that cuDNN plans anew for every
        # length of a batch, which takes about a second.
        os.environ.setdefault("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1")

    # -------------------------------------------------------------------------
    # Messages

    def say(self, text: str) -> None:
        """Print a line without buffering, and log it; only the first process does."""
        if self.rank == 0:
            print(text, flush=True)
            events.append_text(self.folder / "stages.log", text)

    def stop(self, sentence: str) -> NoReturn:
        """End this stage with exit code 1 and a sentence: what is wrong and what to do."""
        self.end.update(event="failed", code=1, sentence=sentence)
        raise SystemExit(f"{self.script}: {sentence}")  # Python prints it and exits with 1

    def ensure(self, condition: object, sentence: str) -> None:
        """Check a post-condition: what must be true before the next stage reads the results."""
        if not condition:
            self.stop(f"post-condition failed: {sentence}")

    def need_model(
        self, model: Path | str, pinned: str | None = None, *, option: str = "--model"
    ) -> Path | str:
        """Return `pinned`, a Hub id, or the path of the folder `model`; end this stage otherwise.

        `option` is the argument of the script that takes its path.
        """
        if pinned is not None and model == pinned:
            self.hub_ids.append(pinned)
            return model
        if not (Path(model) / "config.json").is_file():
            said = f"the model folder {model} has no config.json: give its path with {option}"
            if pinned is not None:
                said = f"{model} is not a model's folder: {option} takes a folder, as a model on"
                said += " the Hub could change between two stages"
            self.stop(said)
        return Path(model).resolve()

    def describe_disk_error(self, error: BaseException) -> str | None:
        """Return a sentence for an error of the disk, or None for any other error."""
        where = getattr(error, "filename", None) or self.folder
        if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
            return f"{where}: {_DISK_ERRORS[error.errno]}"
        if not any(words in str(error) for words in _DISK_WORDS):
            return None
        is_full = shutil.disk_usage(self.folder).free < 2**24
        return f"{self.folder}: the disk is full" if is_full else None

    # -------------------------------------------------------------------------
    # Begin and end

    def begin(self) -> None:
        """Lock the run folder until the process ends, and log how this stage begins and ends."""
        sys.excepthook = self._report_error
        self.folder.mkdir(exist_ok=True)
        self.lock_file = (self.folder / ".lock").open("w")
        try:
            fcntl.flock(self.lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.stop(f"another stage is running in {self.folder}: wait for it, or stop it")
        self._start()

    def begin_next(self, stage: str) -> "Run":
        """End this stage and begin another one of the same script; the lock is passed on."""
        self.finish()
        following = Run(self.bundle, stage=stage, script=self.script)
        following.lock_file = self.lock_file
        following._start()
        return following

    def _start(self) -> None:
        self._log(event="began", pid=os.getpid(), host=socket.gethostname())
        atexit.register(self.finish)

    def release_lock(self) -> None:
        """Close this process's handle of the lock: workers must not hold it when the stage ends."""
        if self.lock_file is not None:
            self.lock_file.close()

    def finish(self) -> None:
        """Log how this stage ended, once."""
        if self.lock_file is not None and not self._is_finished:
            self._is_finished = True
            self._log(**self.end)

    def _log(self, **event: Any) -> None:
        events.append(self.folder / "stages.jsonl", stage=self.stage, **event)

    def _report_error(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self.end.update(event="stopped", code=130, sentence="interrupted from the keyboard")
        else:  # the event has the error's name only: its text may contain data
            sentence = f"{kind.__name__}: see the output of the stage"
            self.end.update(event="failed", code=1, sentence=sentence)
        if trouble := self.describe_disk_error(error):
            trouble += "; fix it and run again: nothing is lost"
        elif trouble := hub_trouble.describe(error, self.hub_ids):
            self.end["sentence"] = trouble
        if trouble:
            print(f"{self.script}: {trouble}", file=sys.stderr)
        else:
            sys.__excepthook__(kind, error, trace)

    # -------------------------------------------------------------------------
    # The record of a stage

    def identify(self, *inputs: stages.Input) -> stages.Identity:
        """Return what this stage depends on; end it if another stage's output was changed."""
        found = stages.identify(self.bundle, self.script, *inputs)
        if fault := stages.find_tampered(self.bundle, inputs, found.inputs):
            self.stop(fault)
        return found

    def check_inputs(self, stage: str) -> None:
        """End this stage if a file that an earlier stage read has changed; it may be missing."""
        record = stages.read_record(self.bundle, stage)
        if name := record and stages.find_changed(record, "inputs"):
            self.stop(
                f"{name} has changed since stage `{stage}` read it: run ./run.sh to repeat it"
            )

    def check_current(self, stage: str) -> None:
        """End this stage if the scripts or the inputs of an earlier stage changed since it ran."""
        record = stages.read_record(self.bundle, stage)
        name = record and (
            stages.find_changed(record, "sources") or stages.find_changed(record, "inputs")
        )
        if name:
            self.stop(f"{name} has changed since stage `{stage}` ran: ./run.sh starts from there")

    def check_outputs(self, *paths: Path) -> None:
        """End this stage if a file is not as the stage that wrote it recorded."""
        if fault := stages.find_tampered(self.bundle, paths):
            self.stop(fault)

    def is_done(self, identity: stages.Identity) -> bool:
        """Return whether this stage is finished and up to date, and print why or why not."""
        record = stages.read_record(self.bundle, self.stage)
        if record is None:
            return False
        why = stages.find_difference(record, identity)
        why = why or stages.find_changed_output(record, self.bundle, bundle=self.bundle)
        if why:
            self.say(f"{self.stage}: runs again, because {why}")
        else:
            self.say(f"{self.stage}: already done (it took {record.read['seconds']:.0f} s)")
        return not why

    def mark_done(self, identity: stages.Identity, *outputs: Path, trained: bool = False) -> None:
        """Record that this stage is finished; a training gets an id that later stages inherit."""
        written = [path for item in outputs for path in (item, *item.rglob("*")) if path.is_file()]
        for path in {*written, *(path.parent for path in written)}:
            files.sync(path)
        seconds = round(time.monotonic() - self._started, 1)
        record = {**stages.make_record(self.bundle, identity, outputs), "seconds": seconds}
        if trained:
            record["trainings"] = [secrets.token_hex(16)]
        files.write_json(self.folder / "done" / f"{self.stage}.json", record)
        self.end["seconds"] = seconds
        self.say(f"{self.stage}: done in {seconds:.0f} s")

    # -------------------------------------------------------------------------
    # Rows

    def read_rows(self, path: Path, most: int | None = None) -> list[Any]:
        """Return the JSON values of a file with one per line, or the first `most` of them."""
        if not path.is_file():
            name = path.relative_to(self.bundle)
            self.stop(f"{name} is missing: run the stages before this one (see run.sh)")
        return list(itertools.islice(files.read_rows(path), most))
