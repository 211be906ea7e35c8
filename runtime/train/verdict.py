"""The verdict on a training: whether the kept weights are worse than the model before it.

It runs again at every start, and training does not depend on it. So `allow_worse` is read from
spec.json, and setting it does not train again. Standard library only.
"""

import sys
from typing import Any

from ..exit_codes import WORSE
from ..files import read_json, write_json
from ..run import Run


def end_if_worse(run: Run) -> None:
    """End the stage with exit code 79 if training made the model worse, by run/train/curve.json."""
    curve = read_json(run.folder / "train/curve.json")
    before, shipped = curve["before"], curve["shipped"]
    if (before - shipped if curve["higher"] else shipped - before) <= curve["noise"]:
        return
    name = curve["metric"].replace("_", " ").replace("/", " ")
    said = (
        f"training made the model worse: the validation {name} was {before:.4f} before training,"
        f" and is {shipped:.4f} at best"
    )
    if _is_worse_allowed(run):
        run.say(f"{said}; the spec sets training.evaluation.allow_worse")
        return
    said += (
        "; set a lower training.learning_rate, add data, or set training.evaluation.allow_worse to"
        " continue with these weights, and compile again"
    )
    run.end.update(event="failed", code=WORSE, sentence=said)
    if run.rank == 0:
        print(f"{run.script}: {said}", file=sys.stderr, flush=True)
        write_json(run.folder / "train/exit_code.json", WORSE)
    raise SystemExit(WORSE)


def _is_worse_allowed(run: Run) -> bool:
    read: Any = read_json(run.bundle / "spec.json")
    for name in ("training", "evaluation", "allow_worse"):
        read = read.get(name) if isinstance(read, dict) else None
    return read is True
