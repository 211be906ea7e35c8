"""What is noted while the stages work, for those who watch: `ftc watch` reads it, and so can you.

run/stages.jsonl has a line for each stage that began and for how it ended; run/train/log.jsonl has
one for all that training logs and, in between, for where it is. Standard library only.
"""

import atexit
import json
import math
import os
import socket
import sys
import time
from pathlib import Path

RUN = Path(__file__).resolve().parent / "run"
STAGE = Path(sys.argv[0]).stem
EVERY_SECONDS = 10  # at most between two lines of training, or a step where that takes longer

end = {"event": "done"}  # how this stage ends, unless something says otherwise
begun = False
tell = sys.excepthook
last = time.monotonic()


def append(path, **record):
    """Add a line to a file; one that was cut, by a kill or a full disk, is ended before it."""
    record = {"time": round(time.time(), 3), **record}
    for name, value in record.items():
        if isinstance(value, float) and not math.isfinite(value):
            record[name] = None  # JSON has no such number
    line = json.dumps(record, ensure_ascii=False, default=float).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read() == b"\n" else b"\n" + line
            file.write(line)  # wherever it was read: the mode adds at the end
    except OSError:
        pass  # who watches misses a line; the stage goes on, and says what it cannot do without


# -----------------------------------------------------------------------------
# Stages


def begin():
    """Note that this stage begins, and see to it that its end is noted."""
    global begun, tell
    begun, tell = True, sys.excepthook
    process = {"pid": os.getpid(), "host": socket.gethostname()}
    append(RUN / "stages.jsonl", stage=STAGE, event="began", **process)
    sys.excepthook = note_error
    atexit.register(finish)


def finish():
    """Note how this stage ended; of several processes one began it."""
    if begun:
        append(RUN / "stages.jsonl", stage=STAGE, **end)


def note_error(kind, error, trace):
    """Note what Python is about to print, by its name alone: its text may hold anything."""
    if issubclass(kind, KeyboardInterrupt):
        end.update(event="stopped", code=130, sentence="interrupted from the keyboard")
    else:
        end.update(event="failed", code=1, sentence=f"{kind.__name__}: see what it printed")
    tell(kind, error, trace)


# -----------------------------------------------------------------------------
# Training


def log(state, **measured):
    """Note what training measured at its present step, by one of its processes."""
    global last
    if state.is_world_process_zero:
        last = time.monotonic()
        where = {"step": state.global_step, "steps": state.max_steps, "epoch": state.epoch}
        append(RUN / "train" / "log.jsonl", **{**where, **measured})


def is_due():
    """Whether nothing was noted for so long that one would ask whether training goes on."""
    return time.monotonic() - last >= EVERY_SECONDS
