"""Scores the answers of a quantized file, and compares them with those of the trained model.

Only bundles with a metric have this module, and `reference.Job` names it.
"""

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from ..compare.reference import Job
from ..run import Run

ASKED_ROWS: Final = 400  # of the test split at most, answered and compared with the right answer
WRITTEN_TOKENS: Final = 8192  # of these answers at most: they are written one by one


def find_predictions(run: Run) -> Path:
    """Return the file of the trained model's answers; ends the stage if it does not exist."""
    path = run.folder / "evaluate" / "predictions.jsonl"
    if not path.is_file():
        run.stop("run/evaluate/predictions.jsonl is missing: run evaluate.py first (see run.sh)")
    return path


def choose_rows(run: Run, job: Job) -> list[dict[str, Any]]:
    """Return rows that the trained model answered, evenly spaced from shortest to longest."""
    told: list[dict[str, Any]] = run.read_rows(find_predictions(run))
    tokens = sum(len(row["prompt_ids"]) for row in told)
    read, written = len(told) * 4 * job.tokens // tokens, WRITTEN_TOKENS // job.answer_tokens
    most = max(1, min(ASKED_ROWS, read, written))
    return told[:: math.ceil(len(told) / most)]


def examine(
    job: Job, asked: Sequence[dict[str, Any]], answer: Callable[[list[int], int], str]
) -> dict[str, Any]:
    """Return how good the answers of the file are, and those of the trained model.

    `answer` returns the file's answer to a prompt, with a limit in tokens. `answers` is False for a
    file that writes nothing although the trained model writes something.
    """
    if job.answered is None:
        raise ValueError("there is no metric")
    scorer: Any = import_module(job.answered["scorer"])
    said = [answer(row["prompt_ids"], job.answer_tokens) for row in asked]
    right, before = [row["answer"] for row in asked], [row["said"] for row in asked]
    metric, trained = scorer.measure(said, right), scorer.measure(before, right)
    changes = (
        (scorer.measure([a], [c]) - scorer.measure([b], [c])) ** 2
        for a, b, c in zip(said, before, right, strict=True)
    )
    return {
        "answers": any(said) or not any(before),
        "asked_rows": len(asked),
        job.answered["metric"]: metric,
        f"trained_{job.answered['metric']}": trained,
        "metric_drop": trained - metric,
        "same_answers": sum(map(str.__eq__, said, before)) / len(asked),
        "changed_answers": sum(changes),
    }
