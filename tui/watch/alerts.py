"""Warnings about a run, computed only from its numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ftc.spec.findings.finding import Severity
from ftc.tui.languages.voice import Voice
from ftc.tui.watch.run import Run
from ftc.tui.watch.training import Curve
from ftc.tui.watch.words import ENGLISH, respell, say, say_size, say_time

#: Memory above this multiple of the plan is reported.
_MEMORY_SLACK: Final = 1.1
_NEARLY_FULL: Final = 0.97
_WORSE_TIMES: Final = 3
#: The maximum time without output: as a multiple of the longest gap between two records, and in
#: seconds.
_SILENT_GAPS: Final = 5.0
_SILENT_SECONDS: Final = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A warning: its sentence and its severity."""

    severity: Severity
    text: str


def find_alerts(run: Run, voice: Voice = ENGLISH) -> tuple[Alert, ...]:
    """Return the alerts, the most important first."""
    return tuple(
        alert
        for find in (_silence, _loss, _warned, _memory, _worsening, _time, _attempts, _damage)
        for alert in find(run, voice)
    )


def _alert(severity: Severity, voice: Voice, key: str, **values: object) -> Alert:
    return Alert(severity=severity, text=say(voice, key, **values))


def _silence(run: Run, voice: Voice) -> Iterator[Alert]:
    training = run.training
    current = run.current
    if run.state != "running" or current is None:
        return
    if run.is_training and training.last_time is not None:
        silent = run.now - training.last_time
        if silent > max(_SILENT_SECONDS, _SILENT_GAPS * training.longest_gap_seconds):
            yield _alert("warning", voice, "silent", time=say_time(voice, silent))
            return
    if current.elsewhere:
        yield _alert("info", voice, "elsewhere", stage=current.name, where=current.elsewhere)


def _loss(run: Run, voice: Voice) -> Iterator[Alert]:
    if run.training.lost:
        yield _alert("error", voice, "lost", step=run.training.lost[0])


def _memory(run: Run, voice: Voice) -> Iterator[Alert]:
    held, planned = run.training.memory_bytes, run.expected.memory_bytes
    capacity = run.expected.capacity_bytes
    if held is None:
        return
    if capacity is not None and held > _NEARLY_FULL * capacity:
        sizes = {"held": say_size(voice, held), "capacity": say_size(voice, capacity)}
        yield _alert("error", voice, "full", **sizes)
    elif planned is not None and held > _MEMORY_SLACK * planned:
        sizes = {"held": say_size(voice, held), "planned": say_size(voice, planned)}
        yield _alert("warning", voice, "above", **sizes)


def _warned(run: Run, voice: Voice) -> Iterator[Alert]:
    del voice
    if run.training.warning:
        yield Alert(severity="warning", text=run.training.warning)


def _worsening(run: Run, voice: Voice) -> Iterator[Alert]:
    training, best = run.training, run.training.best
    curve = training.curves.get(f"eval_{training.best_by}", ())
    if best is None or len(curve) <= _WORSE_TIMES:
        return
    if _has_worsened(curve, higher_is_better=training.higher_is_better):
        name = training.best_by.replace("_", " ")
        yield _alert(
            "warning",
            voice,
            "fell" if training.higher_is_better else "rose",
            name=name,
            times=_WORSE_TIMES,
            best=respell(voice, f"{best[1]:.4f}"),
            step=best[0],
        )


def _has_worsened(curve: Curve, *, higher_is_better: bool) -> bool:
    tail = [value for _, value in curve[-_WORSE_TIMES - 1 :]]
    pairs = pairwise(reversed(tail) if higher_is_better else tail)
    return all(before < after for before, after in pairs)


def _time(run: Run, voice: Voice) -> Iterator[Alert]:
    left, high = run.left_seconds, run.expected.high_seconds
    current, last = run.current, run.training.last_time
    if left is None or high is None or current is None or run.training.attempts != 1:
        return
    whole = max(0.0, (last or 0.0) - (current.began or 0.0)) + left
    if whole > high:
        yield _alert(
            "warning", voice, "slow", time=say_time(voice, whole), high=say_time(voice, high)
        )


def _attempts(run: Run, voice: Voice) -> Iterator[Alert]:
    training = run.training
    rows, planned = training.micro_batch, run.expected.micro_batch
    if rows is not None and planned is not None and rows < planned:
        yield _alert("warning", voice, "fewer_rows", rows=rows, planned=planned)
    if training.attempts > 1:
        yield _alert("info", voice, "attempts", times=training.attempts)


def _damage(run: Run, voice: Voice) -> Iterator[Alert]:
    if run.damaged:
        yield _alert("info", voice, "damage", lines=run.damaged)
