"""Training as logged: curves, pace and memory, from the latest attempt at each step."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final

from ftc.tui.watch.records import Record
from ftc.tui.watch.values import count, number, text

#: The period over which the pace is measured; it includes evaluations and checkpoints.
_WINDOW_SECONDS: Final = 900.0
_RECENT: Final = 12
#: The share of prompts whose answers all got the same reward, as logged by GRPO's trainer.
_EQUAL_SHARE: Final = "frac_reward_zero_std"
#: The keys of a record that are not measurements.
_FRAME: Final = frozenset({"time", "step", "steps", "epoch", "event", "micro_batch", "processes"})

Curve = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """`curves` maps a measurement to its (step, value) pairs, steps ascending.

    `attempts` counts the starts; `micro_batch` is the micro-batch of the current attempt.
    `pace_seconds` is the time of a step in the last period. Gaps are between two records of this
    attempt. `lost` are the steps at which the loss was not a number. `best_by` is the evaluation
    measurement that selects the best checkpoint. `warning` is the last warning of training, unless
    its cause has ended. `stopped_early` is the reason why training stopped before its last step.
    """

    steps: int | None = None
    step: int = 0
    epoch: float | None = None
    curves: Mapping[str, Curve] = field(default_factory=dict)
    attempts: int = 0
    micro_batch: int | None = None
    pace_seconds: float | None = None
    tokens_per_second: float | None = None
    memory_bytes: int | None = None
    last_time: float | None = None
    longest_gap_seconds: float = 0.0
    lost: tuple[int, ...] = ()
    best_by: str = "loss"
    higher_is_better: bool = False
    warning: str = ""
    stopped_early: str = ""

    @property
    def best(self) -> tuple[int, float] | None:
        """The step and the value of the best evaluation after the first step."""
        points = [point for point in self.curves.get(f"eval_{self.best_by}", ()) if point[0] > 0]
        choose = max if self.higher_is_better else min
        return choose(points, key=lambda point: point[1], default=None)


def read_training(records: Iterable[Record], tokens_per_step: int | None) -> Training:
    """Return the training in a log, without steps beyond a later attempt's checkpoint."""
    kept: dict[int, dict[str, object]] = {}
    attempt: list[Record] = []
    attempts = last = 0
    for record in records:
        step = count(record, "step")
        if step is None:
            continue
        if record.get("event") == "began":
            attempts, attempt = attempts + 1, []
        if step < last:
            kept = {at: said for at, said in kept.items() if at <= step}
        last = step
        attempt.append(record)
        kept.setdefault(step, {}).update(record)
    pace = _find_pace(attempt)
    best_by, higher = _find_best_by(kept)
    return Training(
        steps=_latest(kept.values(), "steps"),
        step=last,
        epoch=_newest(kept.values(), "epoch"),
        curves=_find_curves(kept),
        attempts=attempts,
        micro_batch=_latest(attempt, "micro_batch"),
        pace_seconds=pace,
        tokens_per_second=_find_speed(attempt)
        or (tokens_per_step / pace if pace and tokens_per_step else None),
        memory_bytes=_latest(kept.values(), "memory_bytes"),
        last_time=_newest(attempt, "time"),
        longest_gap_seconds=_find_gap(attempt),
        lost=tuple(at for at, said in kept.items() if said.get("loss", 0.0) is None),
        best_by=best_by,
        higher_is_better=higher,
        warning=_find_warning(kept),
        stopped_early=next(
            (said for each in kept.values() if (said := text(each, "stopped_early"))), ""
        ),
    )


def _find_best_by(kept: Mapping[int, Record]) -> tuple[str, bool]:
    """Return the measurement that selects the best checkpoint, and whether higher is better.

    The log of an older bundle does not name it; then it is the reward if answers are sampled.
    """
    for said in kept.values():
        if name := text(said, "best_by"):
            return name.removeprefix("eval_"), said.get("higher_is_better") is True
    tried = any("eval_reward" in said for said in kept.values())
    return ("reward", True) if tried else ("loss", False)


def _find_warning(kept: Mapping[int, Record]) -> str:
    """Return the last warning, unless rewards have differed since."""
    found = ""
    for step in sorted(kept):
        share = number(kept[step], _EQUAL_SHARE)
        if share is not None and share < 1:
            found = ""
        found = text(kept[step], "warning") or found
    return found


def _find_curves(kept: Mapping[int, Record]) -> Mapping[str, Curve]:
    curves: dict[str, list[tuple[int, float]]] = {}
    for step in sorted(kept):
        for name in kept[step].keys() - _FRAME:
            value = number(kept[step], name)
            if value is not None:
                curves.setdefault(name, []).append((step, value))
    return {name: tuple(points) for name, points in sorted(curves.items())}


def _find_pace(attempt: Sequence[Record]) -> float | None:
    """Return the seconds per step in the last period of an attempt."""
    points = _points(attempt, "step")
    if not points:
        return None
    end, last = points[-1]
    recent = [(at, step) for at, step in points if end - at <= _WINDOW_SECONDS]
    begin, first = recent[0]
    return (end - begin) / (last - first) if last > first and end > begin else None


def _find_speed(attempt: Sequence[Record]) -> float | None:
    """Return the median of tokens per second between records, since a few include an evaluation."""
    points = _points(attempt, "num_tokens")[-_RECENT:]
    speeds = [
        (more - before) / (after - at)
        for (at, before), (after, more) in pairwise(points)
        if after > at and more > before
    ]
    return median(speeds) if speeds else None


def _find_gap(attempt: Sequence[Record]) -> float:
    times = [at for at, _ in _points(attempt, "step")]
    return max((b - a for a, b in pairwise(times)), default=0.0)


def _points(attempt: Sequence[Record], name: str) -> list[tuple[float, float]]:
    pairs = ((number(record, "time"), number(record, name)) for record in attempt)
    return [(at, value) for at, value in pairs if at is not None and value is not None]


def _newest(records: Iterable[Record], name: str) -> float | None:
    found = [value for record in records if (value := number(record, name)) is not None]
    return found[-1] if found else None


def _latest(records: Iterable[Record], name: str) -> int | None:
    found = _newest(records, name)
    return None if found is None or found < 0 else int(found)
