"""Explains why training ended without an error message, as it does when signal 9 kills it.

The kernel kills a process when memory runs out, and counts these kills. On a CPU, training then
continues with smaller micro-batches: see smaller_batch, which a bundle for a GPU does not have. On
a GPU, smaller micro-batches save little host memory, so the size stays the same. It also stays the
same after any other kill, which may have been intended. Standard library only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from . import events, files
from .train import checkpoints


def count_kills() -> int:
    """Return how many processes the kernel killed for memory since the machine started."""
    with suppress(OSError, ValueError):
        lines = Path("/proc/vmstat").read_text(encoding="utf-8").splitlines()
        return int(dict(line.split() for line in lines).get("oom_kill", 0))
    return 0


def find_children(process: int) -> Iterator[int]:
    """Yield the ids of a process's direct and indirect children; none if /proc is missing."""
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, path.read_text(encoding="utf-8").split()):
                yield child
                yield from find_children(child)


def explain(bundle: Path, kills_before: int, *, on_cpu: bool, stage: str = "train") -> None:
    """Print and log why training was killed; nothing if it ended with a message of its own.

    `kills_before` is what `count_kills` returned when training started. On a CPU this also writes
    the exit code of training. `stage` is train or pilot, which names the folder too.
    """
    run = bundle / "run"
    ends = [e.get("event") for e in events.read(run / "stages.jsonl") if e.get("stage") == stage]
    for_memory = count_kills() > kills_before
    if ends[-1:] != ["began"] and not for_memory:
        return
    logged = [event for event in events.read(run / stage / "log.jsonl") if "memory_bytes" in event]
    step = logged[-1]["step"] if logged else 0
    if for_memory:
        cause = f"the kernel killed training after step {step:,} because memory ran out"
    else:
        cause = (
            f"training ended after step {step:,} without an error message, as if killed by signal"
            " 9: by a user, by a scheduler or because memory ran out"
        )
    code = 1
    if on_cpu:
        used_bytes = max((event["memory_bytes"] for event in logged), default=0)
        smaller = import_module(".smaller_batch", __package__)
        code, advice = smaller.reduce_batch(
            run / stage / "batch.json", step, used_bytes, for_memory=for_memory
        )
        files.write_json(run / stage / "exit_code.json", code)
    else:
        planned_bytes = files.read_object(bundle / "plan.json").get("host_bytes", 0)
        advice = f"{planned_bytes / 2**30:.2f} GiB of host memory were planned"
        if for_memory:
            advice += "; stop other programs that use memory, or use a machine with more"
    newest = checkpoints.find_sealed(run / "train" / "checkpoints")
    if stage != "train":
        again = "./run.sh --pilot starts again"
    elif newest is None:
        again = "there is no checkpoint yet, so ./run.sh starts training from the beginning"
    else:
        again = f"./run.sh resumes from run/train/checkpoints/{newest.name}"
    sentence = f"{cause}: {advice}; {again}"
    print(f"run.sh: {sentence}", file=sys.stderr, flush=True)
    events.append(run / "stages.jsonl", stage=stage, event="failed", code=code, sentence=sentence)
