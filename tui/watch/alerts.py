"""Warnings about a run: a sentence each, computed from its numbers only."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ftc.compiler.plan.summary.headline import say_bytes, say_seconds
from ftc.tui.watch.run import Run
from ftc.tui.watch.training import Curve

#: Memory above the plan times this is reported.
_MEMORY_SLACK: Final = 1.1
_NEARLY_FULL: Final = 0.97
_WORSE_TIMES: Final = 3
#: How long nothing may be written: in the longest gap between two records, and in seconds.
_SILENT_GAPS: Final = 5.0
_SILENT_SECONDS: Final = 180.0


def find_alerts(run: Run) -> tuple[str, ...]:
    """Return the sentences, the most important first."""
    return tuple(
        sentence
        for find in (_silence, _loss, _warned, _memory, _worsening, _time, _attempts, _damage)
        for sentence in find(run)
    )


def _silence(run: Run) -> Iterator[str]:
    training = run.training
    current = run.current
    if run.state != "running" or current is None:
        return
    if run.is_training and training.last_time is not None:
        silent = run.now - training.last_time
        if silent > max(_SILENT_SECONDS, _SILENT_GAPS * training.longest_gap_seconds):
            yield f"training has written nothing for {say_seconds(silent)}: it may be hanging"
            return
    if current.elsewhere:
        where = current.elsewhere
        yield f"{current.name} runs on {where}, so its process cannot be checked from here"


def _loss(run: Run) -> Iterator[str]:
    if run.training.lost:
        yield f"the loss is not a number at step {run.training.lost[0]:,}"


def _memory(run: Run) -> Iterator[str]:
    held, planned = run.training.memory_bytes, run.expected.memory_bytes
    capacity = run.expected.capacity_bytes
    if held is None:
        return
    if capacity is not None and held > _NEARLY_FULL * capacity:
        yield f"memory is nearly full: {say_bytes(held)} of {say_bytes(capacity)}"
    elif planned is not None and held > _MEMORY_SLACK * planned:
        yield f"memory is above the plan: {say_bytes(held)}, planned {say_bytes(planned)}"


def _warned(run: Run) -> Iterator[str]:
    if run.training.warning:
        yield run.training.warning


def _worsening(run: Run) -> Iterator[str]:
    training, best = run.training, run.training.best
    curve = training.curves.get(f"eval_{training.best_by}", ())
    if best is None or len(curve) <= _WORSE_TIMES:
        return
    if _has_worsened(curve, higher_is_better=training.higher_is_better):
        name = training.best_by.replace("_", " ")
        yield (
            f"the validation {name} {'fell' if training.higher_is_better else 'rose'} "
            f"{_WORSE_TIMES} times in a row: best was {best[1]:.4f} at step {best[0]:,}"
        )


def _has_worsened(curve: Curve, *, higher_is_better: bool) -> bool:
    tail = [value for _, value in curve[-_WORSE_TIMES - 1 :]]
    pairs = pairwise(reversed(tail) if higher_is_better else tail)
    return all(before < after for before, after in pairs)


def _time(run: Run) -> Iterator[str]:
    left, high = run.left_seconds, run.expected.high_seconds
    current, last = run.current, run.training.last_time
    if left is None or high is None or current is None or run.training.attempts != 1:
        return
    whole = max(0.0, (last or 0.0) - (current.began or 0.0)) + left
    if whole > high:
        yield (
            f"training is slower than planned: {say_seconds(whole)} at this pace, "
            f"planned at most {say_seconds(high)}"
        )


def _attempts(run: Run) -> Iterator[str]:
    training = run.training
    rows, planned = training.micro_batch, run.expected.micro_batch
    if rows is not None and planned is not None and rows < planned:
        yield f"the micro-batch is {rows:,} rows, planned {planned:,}, because memory ran out"
    if training.attempts > 1:
        yield f"training was started {training.attempts} times, each time from the last checkpoint"


def _damage(run: Run) -> Iterator[str]:
    if run.damaged:
        lines = "line of the logs is" if run.damaged == 1 else "lines of the logs are"
        yield f"{run.damaged:,} {lines} damaged and ignored"
