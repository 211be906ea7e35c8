"""Reports runs line by line: their state, and then each event until all have ended."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TextIO

from ftc.tui.languages.voice import Voice
from ftc.tui.watch.alerts import Alert, find_alerts
from ftc.tui.watch.chart import draw
from ftc.tui.watch.run import Run, Watched
from ftc.tui.watch.stages import Stage
from ftc.tui.watch.words import (
    ENGLISH,
    find_facts,
    headline,
    respell,
    say,
    say_advice,
    say_stages,
    say_time,
)

_WAIT_SECONDS: Final = 2.0
_ROWS: Final = 10
_OUTPUT_LINES: Final = 5


def follow(
    folders: Sequence[Path],
    telling: TextIO,
    *,
    columns: int,
    once: bool,
    voice: Voice = ENGLISH,
) -> None:
    """Print the state of the runs and, while one of them is running, a line for each event.

    Raises EnvironmentFailure if a folder is not a bundle.
    """
    watched = [Watched(folder) for folder in folders]
    runs = [each.look(time.time()) for each in watched]
    plain = not can_draw(telling)
    for run in runs:
        _write(telling, report_run(run, columns=columns, plain=plain, voice=voice))
    while not once and any(run.state == "running" for run in runs):
        time.sleep(_WAIT_SECONDS)
        later = [each.look(time.time()) for each in watched]
        for before, now in zip(runs, later, strict=True):
            _write(telling, tell_news(before, now, named=len(runs) > 1, voice=voice))
        runs = later


def report_run(run: Run, *, columns: int, plain: bool, voice: Voice = ENGLISH) -> Iterator[str]:
    """Yield the lines of a run: its state, its stages, its numbers, its curve, its warnings."""
    yield headline(run, voice)
    if run.stages:
        yield f"  {say_stages(run, plain=plain, voice=voice)}"
    facts = find_facts(run, voice)
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
        word=say(voice, "step"),
    )
    if chart is not None and len(curves.get(name, ())) > 1:
        scale = say(voice, "logarithm") if chart.logarithmic else ""
        mark = "o" if plain else "●"
        yield f"  {say(voice, 'curve', name=say(voice, name), mark=mark, scale=scale)}"
        yield from (f"  {line}" for line in chart.lines)
    yield from (f"  {say_alert(alert, voice)}" for alert in find_alerts(run, voice))
    if advice := say_advice(run, voice):
        yield f"  {advice}"
    if run.output:
        yield f"  {say(voice, 'output')}"
        yield from (f"    {line}" for line in run.output[-_OUTPUT_LINES:])


def tell_news(before: Run, now: Run, *, named: bool, voice: Voice = ENGLISH) -> Iterator[str]:
    """Yield a line for each new point of the curves, each new stage and each new warning."""
    name = f"{now.name}: " if named else ""
    yield from (f"{name}{line}" for line in _news(before, now, voice))


def _news(before: Run, now: Run, voice: Voice) -> Iterator[str]:
    for measured, key in (
        ("loss", "training_loss"),
        ("reward", "mean_reward"),
        ("eval_loss", "validation_loss"),
        ("eval_reward", "validation_reward"),
    ):
        known = dict(before.training.curves.get(measured, ()))
        for step, value in now.training.curves.get(measured, ()):
            if known.get(step) != value:
                yield _point(
                    now, step, f"{say(voice, key)} {respell(voice, f'{value:.4f}')}", voice
                )
    stopped = now.training.stopped_early
    if stopped and stopped != before.training.stopped_early:
        yield stopped
    ways = {stage.name: stage.status for stage in before.stages}
    for stage in now.stages:
        if ways.get(stage.name) != stage.status and stage.status in ("running", "done"):
            yield _change_of(stage, voice)
    known_alerts = {alert.text.split(":")[0] for alert in find_alerts(before, voice)}
    for alert in find_alerts(now, voice):
        if alert.text.split(":")[0] not in known_alerts:
            yield say_alert(alert, voice)
    if now.state != before.state:
        yield headline(now, voice)
        if advice := say_advice(now, voice):
            yield advice


def say_alert(alert: Alert, voice: Voice) -> str:
    """Return an alert as a line that begins with its severity."""
    return f"{voice.say(f'severity.{alert.severity}')}: {alert.text}"


def _point(run: Run, step: int, what: str, voice: Voice) -> str:
    """Return the line about a new point of a curve."""
    total, left = run.total_steps, run.left_seconds
    place = (
        say(voice, "step_of", step=step, total=total) if total else say(voice, "step_at", step=step)
    )
    rest = "" if left is None else say(voice, "left", time=say_time(voice, left))
    return f"{place}: {what}{rest}"


def _change_of(stage: Stage, voice: Voice) -> str:
    """Return the line about a stage that began or ended."""
    if stage.status == "running":
        return say(voice, "begun", stage=stage.name)
    if stage.seconds is None:
        return say(voice, "stage_done", stage=stage.name)
    return say(voice, "stage_done_in", stage=stage.name, time=say_time(voice, stage.seconds))


def can_draw(stream: TextIO) -> bool:
    """Return whether a stream's encoding has the characters for curves and marks."""
    try:
        "⣿●✓▶".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _write(telling: TextIO, lines: Iterator[str]) -> None:
    telling.writelines(f"{line}\n" for line in lines)
    telling.flush()
