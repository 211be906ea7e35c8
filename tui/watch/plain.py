"""Runs line by line: what they are now, and then what happens, until none runs."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TextIO

from ftc.compiler.plan.summary.headline import say_seconds
from ftc.tui.watch.alerts import find_alerts
from ftc.tui.watch.chart import draw
from ftc.tui.watch.run import Run, Watched
from ftc.tui.watch.words import find_facts, headline, say_stages

_WAIT_SECONDS: Final = 2.0
_ROWS: Final = 10


def follow(folders: Sequence[Path], telling: TextIO, *, columns: int, once: bool) -> None:
    """Say how runs are, and, while one of them runs, a line for whatever is new.

    Raises EnvironmentFailure where a folder is no bundle.
    """
    watched = [Watched(folder) for folder in folders]
    runs = [each.look(time.time()) for each in watched]
    plain = not can_draw(telling)
    for run in runs:
        _write(telling, report_run(run, columns=columns, plain=plain))
    while not once and any(run.state == "running" for run in runs):
        time.sleep(_WAIT_SECONDS)
        later = [each.look(time.time()) for each in watched]
        for before, now in zip(runs, later, strict=True):
            _write(telling, tell_news(before, now, named=len(runs) > 1))
        runs = later


def report_run(run: Run, *, columns: int, plain: bool) -> Iterator[str]:
    """Yield the lines of a run: its state, its stages, its numbers, its curve, its warnings."""
    yield headline(run)
    if run.stages:
        yield f"  {say_stages(run, plain=plain)}"
    facts = find_facts(run)
    width = max((len(fact.name) for fact in facts), default=0)
    yield from (f"  {fact.name:<{width}}  {fact.text}" for fact in facts)
    curves = run.training.curves
    name = "reward" if "reward" in curves else "loss"
    chart = draw(
        curves.get(name, ()),
        curves.get(f"eval_{name}", ()),
        columns=columns - 2,
        rows=_ROWS,
        plain=plain,
    )
    if chart is not None and len(curves.get(name, ())) > 1:
        scale = ", by its logarithm" if chart.logarithmic else ""
        yield f"  {name} of training, and of validation as {'o' if plain else '●'}{scale}"
        yield from (f"  {line}" for line in chart.lines)
    yield from (f"  warning: {sentence}" for sentence in find_alerts(run))


def tell_news(before: Run, now: Run, *, named: bool) -> Iterator[str]:
    """Yield a line for each point of the curves, each stage and each warning that is new."""
    name = f"{now.name}: " if named else ""
    yield from (f"{name}{line}" for line in _news(before, now))


def _news(before: Run, now: Run) -> Iterator[str]:
    for measured, words in (
        ("loss", "training loss"),
        ("reward", "mean reward"),
        ("eval_loss", "validation loss"),
        ("eval_reward", "reward of validation"),
    ):
        known = dict(before.training.curves.get(measured, ()))
        for step, value in now.training.curves.get(measured, ()):
            if known.get(step) != value:
                total = f" of {now.total_steps:,}" if now.total_steps else ""
                left = now.left_seconds
                rest = "" if left is None else f", {say_seconds(left)} left"
                yield f"step {step:,}{total}: {words} {value:.4f}{rest}"
    stopped = now.training.stopped_early
    if stopped and stopped != before.training.stopped_early:
        yield stopped
    ways = {stage.name: stage.status for stage in before.stages}
    for stage in now.stages:
        if ways.get(stage.name) != stage.status and stage.status in ("running", "done"):
            took = f" in {say_seconds(stage.seconds)}" if stage.seconds is not None else ""
            yield (
                f"{stage.name}: begun" if stage.status == "running" else f"{stage.name}: done{took}"
            )
    known_alerts = {alert.split(":")[0] for alert in find_alerts(before)}
    for alert in find_alerts(now):
        if alert.split(":")[0] not in known_alerts:
            yield f"warning: {alert}"
    if now.state != before.state:
        yield headline(now)


def can_draw(stream: TextIO) -> bool:
    """Whether a stream's encoding has the letters that curves and marks are drawn with."""
    try:
        "⣿●✓▶".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _write(telling: TextIO, lines: Iterator[str]) -> None:
    telling.writelines(f"{line}\n" for line in lines)
    telling.flush()
