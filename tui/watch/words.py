"""Describes a run in words: the same lines for the screen, a pipe and a screen reader."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.summary.headline import say_bytes, say_seconds
from ftc.runtime.exit_codes import DIVERGED, HUNG, OUT_OF_MEMORY, PREEMPTED, WORSE
from ftc.tui.languages.voice import Voice
from ftc.tui.watch.gpus import GpuLoad
from ftc.tui.watch.run import Run, State
from ftc.tui.watch.stages import Stage, Status

MARKS: Final[Mapping[Status, str]] = {
    "waiting": "·",
    "running": "▶",
    "done": "✓",
    "stopped": "■",
    "failed": "✗",
    "gone": "✗",
}
_PLAIN_MARKS: Final[Mapping[Status, str]] = {
    "waiting": ".",
    "running": ">",
    "done": "+",
    "stopped": "=",
    "failed": "x",
    "gone": "x",
}
#: The voice for files and programs.
ENGLISH: Final = Voice()
_POINTS: Final = str.maketrans(",.", ".,")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line about a run: its name, its value, and the plan's value or `""`."""

    name: str
    value: str
    planned: str = ""

    @property
    def text(self) -> str:
        """The value, with the plan beside it."""
        return f"{self.value} ({self.planned})" if self.planned else self.value


def say(voice: Voice, key: str, **values: object) -> str:
    """Return a sentence about a run; the values are texts or whole numbers."""
    return voice.say(f"watch.{key}", **values)


def respell(voice: Voice, text: str) -> str:
    """Return a number or a size with the decimal sign of the language."""
    return text if voice.language == "en" else text.translate(_POINTS)


def say_time(voice: Voice, seconds: float) -> str:
    """Return a duration in the language's format."""
    return respell(voice, say_seconds(seconds))


def say_size(voice: Voice, size: int) -> str:
    """Return a size in the language's format."""
    return respell(voice, say_bytes(size))


def headline(run: Run, voice: Voice = ENGLISH) -> str:
    """Return the state of a run in one line."""
    return f"{run.name}: {say_state(run, voice)}"


def say_state(run: Run, voice: Voice = ENGLISH) -> str:
    """Return the activity of a run, or how it ended."""
    current = run.current
    if current is None:
        return say(voice, "not_started")
    if run.state == "running":
        return _say_running(run, current, voice)
    if run.state == "done":
        took = sum(stage.seconds or 0.0 for stage in run.stages)
        return say(voice, "done_in", time=say_time(voice, took))
    return _say_end(run.state, current, voice)


def _say_running(run: Run, current: Stage, voice: Voice) -> str:
    if current.status != "running":
        return say(voice, "next", stage=current.name)
    if run.is_training and run.total_steps:
        step, total = run.training.step, run.total_steps
        share = f"{100 * step / total:.0f}"
        return say(voice, "stepping", stage=current.name, step=step, total=total, share=share)
    return say(voice, "for", stage=current.name, time=say_time(voice, current.seconds or 0.0))


def _say_end(state: State, current: Stage, voice: Voice) -> str:
    code = say(voice, "code", code=current.code) if current.code else ""
    why = f": {current.sentence}" if current.sentence else ""
    if state == "gone":
        return say(voice, "gone", stage=current.name)
    if state == "failed":
        return say(voice, "failed", stage=current.name, code=code, why=why)
    if current.status == "done":
        return say(voice, "stopped_after", stage=current.name)
    rest = why or say(voice, "resumes")
    return say(voice, "stopped", stage=current.name, code=code, why=rest)


def say_advice(run: Run, voice: Voice = ENGLISH) -> str:
    """Return the advice after the end of a run; "" while it is running or before it starts."""
    current = run.current
    if current is None or run.state in ("waiting", "running"):
        return ""
    if run.state == "done":
        has_report = (run.folder / REPORT_NAME).is_file()
        return say(voice, "do.done", report=REPORT_NAME) if has_report else ""
    if current.code in _ADVISED:
        return say(voice, f"do.{current.code}")
    if run.state == "failed":
        return say(voice, "do.failed")
    return say(voice, "do.stopped") if current.sentence else ""


def say_stages(run: Run, *, plain: bool, voice: Voice = ENGLISH) -> str:
    """Return all stages in one line, each with a mark for its state and its duration."""
    marks = _PLAIN_MARKS if plain else MARKS
    return "  ".join(f"{marks[stage.status]} {say_stage(stage, voice)}" for stage in run.stages)


def say_stage(stage: Stage, voice: Voice) -> str:
    """Return the name of a stage and its duration."""
    return stage.name if stage.seconds is None else f"{stage.name} {say_time(voice, stage.seconds)}"


def find_facts(run: Run, voice: Voice = ENGLISH) -> tuple[Fact, ...]:
    """Return the facts about a run: those of training or, before it starts, of the plan."""
    return tuple(_facts(run, voice) if run.training.attempts else _plans(run, voice))


def _plans(run: Run, voice: Voice) -> Iterator[Fact]:
    expected = run.expected
    if expected.steps:
        yield Fact(name=say(voice, "planned_steps"), value=voice.show(expected.steps))
    if expected.memory_bytes:
        value, capacity = say_size(voice, expected.memory_bytes), expected.capacity_bytes
        if capacity:
            value = say(voice, "of", value=value, total=say_size(voice, capacity))
        yield Fact(name=say(voice, "planned_memory"), value=value)
    low, high = expected.low_seconds, expected.high_seconds
    if low is not None and high is not None:
        yield Fact(name=say(voice, "planned_time"), value=_say_span(low, high, voice))


def _facts(run: Run, voice: Voice) -> Iterator[Fact]:
    training = run.training
    step = voice.show(training.step)
    if run.total_steps:
        step = say(voice, "of", value=step, total=run.total_steps)
    if training.epoch is not None:
        step += say(voice, "epoch", epoch=respell(voice, f"{training.epoch:.2f}"))
    yield Fact(name=say(voice, "step"), value=step)
    for name, measured, form in _MEASURED:
        if curve := training.curves.get(measured):
            value = respell(voice, format(curve[-1][1], form))
            yield Fact(name=say(voice, name), value=value)
    if training.tokens_per_second is not None:
        speed = voice.show(round(training.tokens_per_second))
        yield Fact(name=say(voice, "speed"), value=f"{speed} tokens/s")
    yield from _resources(run, voice)
    if run.evaluation and run.evaluated_step is not None:
        yield Fact(name=say(voice, "evaluation"), value=_say_evaluation(run, voice))
    best = training.best
    if best is not None and best[0] != run.evaluated_step:
        what = f"{training.best_by.replace('_', ' ')} {respell(voice, f'{best[1]:.4f}')}"
        value = say(voice, "at_step", step=best[0], what=what)
        yield Fact(name=say(voice, "best"), value=value)
    if training.stopped_early:
        yield Fact(name=say(voice, "stopped_early"), value=training.stopped_early)


def _resources(run: Run, voice: Voice) -> Iterator[Fact]:
    """Yield the memory and the remaining time, beside the plan's."""
    held, planned = run.training.memory_bytes, run.expected.memory_bytes
    if held is not None:
        told = say(voice, "planned", value=say_size(voice, planned)) if planned else ""
        yield Fact(name=say(voice, "memory"), value=say_size(voice, held), planned=told)
    yield from _gpus(run.gpus, voice)
    left = run.left_seconds
    if left is not None:
        value, planned_left = say_time(voice, left), _plan_left(run, voice)
        yield Fact(name=say(voice, "time_left"), value=value, planned=planned_left)
        yield Fact(name=say(voice, "ends"), value=_say_moment(run.now, left))


def _gpus(gpus: Sequence[GpuLoad], voice: Voice) -> Iterator[Fact]:
    """Yield a line for each GPU, or one line with the minimum and maximum of many GPUs."""
    groups = [[gpu] for gpu in gpus] if len(gpus) <= _MOST_GPUS else [list(gpus)]
    for group in groups:
        loads = [gpu.percent for gpu in group if gpu.percent is not None]
        used = [gpu.used_bytes for gpu in group if gpu.used_bytes is not None]
        total = max((gpu.total_bytes or 0 for gpu in group), default=0)
        parts = []
        if loads:
            low, high = min(loads), max(loads)
            both = f"{low}" if low == high else say(voice, "span", low=low, high=high)
            parts.append(say(voice, "gpu_busy", percent=both))
        if used and total:
            value = say_size(voice, max(used))
            parts.append(say(voice, "of", value=value, total=say_size(voice, total)))
        first, last = group[0].index, group[-1].index
        name = f"GPU {first}" if first == last else f"GPU {first}-{last}"
        if parts:
            yield Fact(name=name, value=", ".join(parts))


def _plan_left(run: Run, voice: Voice) -> str:
    """Return the planned time for the remaining steps."""
    low, high, total = run.expected.low_seconds, run.expected.high_seconds, run.total_steps
    if low is None or high is None or not total:
        return ""
    share = max(0, total - run.training.step) / total
    return say(voice, "planned", value=_say_span(low * share, high * share, voice))


def _say_span(low: float, high: float, voice: Voice) -> str:
    """Return two durations, or one if both have the same text."""
    first, last = say_time(voice, low), say_time(voice, high)
    return first if first == last else say(voice, "span", low=first, high=last)


def _say_moment(now: float, seconds: float) -> str:
    """Return the clock time after a number of seconds."""
    today, then = time.localtime(now), time.localtime(now + seconds)
    same_day = today[:3] == then[:3]
    return time.strftime("%H:%M" if same_day else "%Y-%m-%d %H:%M", then)


def _say_evaluation(run: Run, voice: Voice) -> str:
    """Return the measurements of the last evaluation that describe the model's quality."""
    clock = ("runtime", "samples_per_second", "steps_per_second", "num_tokens")
    shown = [
        f"{name.replace('_', ' ')} {respell(voice, f'{value:.4f}')}"
        for name, value in run.evaluation.items()
        if not name.endswith(clock)
    ]
    chosen = run.training.best_by.replace("_", " ")
    shown.sort(key=lambda part: not part.startswith(f"{chosen} "))
    what = ", ".join(shown[:_MOST_MEASUREMENTS])
    return say(voice, "at_step", step=run.evaluated_step, what=what)


def say_progress(run: Run, columns: int) -> str:
    """Return a progress bar of a given width, full at the last step; "" before the first step."""
    if not run.training.attempts or not run.total_steps:
        return ""
    full = round(columns * min(1.0, run.training.step / run.total_steps))
    return "━" * full + "╌" * (columns - full)


_MOST_MEASUREMENTS: Final = 4
_MOST_GPUS: Final = 2
REPORT_NAME: Final = "run/report.html"
#: The exit codes of the scripts that have their own advice: runtime/exit_codes.py.
_ADVISED: Final = frozenset({PREEMPTED, OUT_OF_MEMORY, DIVERGED, HUNG, WORSE})
#: The curves of a training: the name in the catalogue, the measurement, its format.
_MEASURED: Final = (
    ("training_loss", "loss", ".4f"),
    ("mean_reward", "reward", ".4f"),
    ("learning_rate", "learning_rate", ".3g"),
)
