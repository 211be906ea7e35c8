"""What somebody should know who looks at a run: each a sentence, from its numbers alone."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ftc.compiler.plan.headline import say_bytes, say_seconds
from ftc.tui.watch.run import Run
from ftc.tui.watch.training import Curve

#: A plan's memory is held to this: what is above it was foreseen by nobody.
_MEMORY_SLACK: Final = 1.1
_NEARLY_FULL: Final = 0.97
_RISING_TIMES: Final = 3
#: Nothing written for so long, in gaps between two records, is a silence.
_SILENT_GAPS: Final = 5.0
_SILENT_SECONDS: Final = 180.0


def find_alerts(run: Run) -> tuple[str, ...]:
    """Return the sentences, what weighs most first."""
    return tuple(
        sentence
        for find in (_silence, _loss, _memory, _rising, _time, _attempts, _damage)
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
            yield f"training has written nothing for {say_seconds(silent)}: it may hang"
            return
    if current.elsewhere:
        yield f"{current.name} runs on {current.elsewhere}: from here its process is not seen"


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


def _rising(run: Run) -> Iterator[str]:
    curve = run.training.curves.get("eval_loss", ())
    if len(curve) > _RISING_TIMES and _has_risen(curve):
        best = min(curve, key=lambda point: point[1])
        yield (
            f"the validation loss rose {_RISING_TIMES} times in a row: "
            f"best was {best[1]:.4f} at step {best[0]:,}"
        )


def _has_risen(curve: Curve) -> bool:
    tail = [value for _, value in curve[-_RISING_TIMES - 1 :]]
    return all(before < after for before, after in pairwise(tail))


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
        yield f"a pass takes {rows:,} rows, planned {planned:,}: memory ran out with more"
    if training.attempts > 1:
        yield f"training began {training.attempts} times, each from the checkpoint before"


def _damage(run: Run) -> Iterator[str]:
    if run.damaged:
        lines = "line of the logs is" if run.damaged == 1 else "lines of the logs are"
        yield f"{run.damaged:,} {lines} not readable, and left out"
