"""A run in words: the same lines for the screen, a pipe and a screen reader."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.summary.headline import say_bytes, say_seconds
from ftc.tui.watch.run import Run, State
from ftc.tui.watch.stages import Stage, Status

_MARKS: Final[Mapping[Status, str]] = {
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
#: What to do after an interruption of any kind.
_RESUME: Final = "./run.sh resumes it"


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


def headline(run: Run) -> str:
    """Return one line with the state of a run."""
    return f"{run.name}: {say_state(run)}"


def say_state(run: Run) -> str:
    """Return what a run is doing, or how it ended."""
    current = run.current
    if current is None:
        return "not started: ./run.sh starts it"
    if run.state == "running":
        return _say_running(run, current)
    if run.state == "done":
        took = sum(stage.seconds or 0.0 for stage in run.stages)
        return f"done in {say_seconds(took)}"
    return _say_end(run.state, current)


def _say_running(run: Run, current: Stage) -> str:
    if current.status != "running":
        return f"{current.name} is done; the next stage is starting"
    if run.is_training and run.total_steps:
        share = run.training.step / run.total_steps
        return f"{current.name}, step {run.training.step:,} of {run.total_steps:,} ({share:.0%})"
    return f"{current.name}, for {say_seconds(current.seconds or 0.0)}"


def _say_end(state: State, current: Stage) -> str:
    code = f" with exit code {current.code}" if current.code else ""
    why = f": {current.sentence}" if current.sentence else ""
    if state == "gone":
        return f"{current.name} was killed, or its machine stopped; {_RESUME}"
    if state == "failed":
        return f"{current.name} failed{code}{why}"
    if current.status == "done":
        return f"stopped after {current.name}; {_RESUME}"
    return f"{current.name} was stopped{code}{why or f'; {_RESUME}'}"


def say_stages(run: Run, *, plain: bool) -> str:
    """Return all stages in one line, each with a mark for its state, and its time."""
    marks = _PLAIN_MARKS if plain else _MARKS
    return "  ".join(
        f"{marks[stage.status]} {stage.name}"
        + (f" {say_seconds(stage.seconds)}" if stage.seconds is not None else "")
        for stage in run.stages
    )


def find_facts(run: Run) -> tuple[Fact, ...]:
    """Return the lines about a run: its training, or before that its plan."""
    return tuple(_facts(run) if run.training.attempts else _plans(run))


def _plans(run: Run) -> Iterator[Fact]:
    expected = run.expected
    if expected.steps:
        yield Fact(name="planned steps", value=f"{expected.steps:,}")
    if expected.memory_bytes:
        capacity = expected.capacity_bytes
        of = f" of {say_bytes(capacity)}" if capacity else ""
        yield Fact(name="planned memory", value=f"{say_bytes(expected.memory_bytes)}{of}")
    low, high = expected.low_seconds, expected.high_seconds
    if low is not None and high is not None:
        yield Fact(name="planned time", value=_say_span(low, high))


def _facts(run: Run) -> Iterator[Fact]:
    training, expected = run.training, run.expected
    total = f" of {run.total_steps:,}" if run.total_steps else ""
    epoch = "" if training.epoch is None else f", epoch {training.epoch:.2f}"
    yield Fact(name="step", value=f"{training.step:,}{total}{epoch}")
    if loss := training.curves.get("loss"):
        yield Fact(name="training loss", value=f"{loss[-1][1]:.4f}")
    if rewards := training.curves.get("reward"):
        yield Fact(name="mean reward", value=f"{rewards[-1][1]:.4f}")
    if rate := training.curves.get("learning_rate"):
        yield Fact(name="learning rate", value=f"{rate[-1][1]:.3g}")
    if training.tokens_per_second is not None:
        yield Fact(name="speed", value=f"{training.tokens_per_second:,.0f} tokens/s")
    if training.memory_bytes is not None:
        planned = expected.memory_bytes
        yield Fact(
            name="memory",
            value=say_bytes(training.memory_bytes),
            planned=f"planned {say_bytes(planned)}" if planned else "",
        )
    if run.left_seconds is not None:
        yield Fact(name="time left", value=say_seconds(run.left_seconds), planned=_plan_left(run))
        yield Fact(name="training ends", value=_say_moment(run.now, run.left_seconds))
    if run.evaluation and run.evaluated_step is not None:
        yield Fact(name="evaluation", value=_say_evaluation(run))
    best = training.best
    if best is not None and best[0] != run.evaluated_step:
        name = training.best_by.replace("_", " ")
        yield Fact(name="best", value=f"step {best[0]:,}: {name} {best[1]:.4f}")
    if training.stopped_early:
        yield Fact(name="stopped early", value=training.stopped_early)


def _plan_left(run: Run) -> str:
    """Return the planned time for the steps that are left."""
    low, high, total = run.expected.low_seconds, run.expected.high_seconds, run.total_steps
    if low is None or high is None or not total:
        return ""
    share = max(0, total - run.training.step) / total
    return f"planned {_say_span(low * share, high * share)}"


def _say_span(low: float, high: float) -> str:
    """Return two durations, or one if they are the same in words."""
    first, last = say_seconds(low), say_seconds(high)
    return first if first == last else f"{first} to {last}"


def _say_moment(now: float, seconds: float) -> str:
    """Return the moment after so many seconds, by this machine's clock."""
    today, then = time.localtime(now), time.localtime(now + seconds)
    same_day = today[:3] == then[:3]
    return time.strftime("%H:%M" if same_day else "%Y-%m-%d %H:%M", then)


def _say_evaluation(run: Run) -> str:
    """Return the measurements of the last evaluation that describe the model's quality."""
    clock = ("runtime", "samples_per_second", "steps_per_second", "num_tokens")
    shown = [
        f"{name.replace('_', ' ')} {value:.4f}"
        for name, value in run.evaluation.items()
        if not name.endswith(clock)
    ]
    chosen = run.training.best_by.replace("_", " ")
    shown.sort(key=lambda part: not part.startswith(f"{chosen} "))
    return f"step {run.evaluated_step:,}: {', '.join(shown[:_MOST_MEASUREMENTS])}"


def say_progress(run: Run, columns: int) -> str:
    """Return a bar of so many characters, full at the last step; "" before the first step."""
    if not run.training.attempts or not run.total_steps:
        return ""
    full = round(columns * min(1.0, run.training.step / run.total_steps))
    return "━" * full + "╌" * (columns - full)


_MOST_MEASUREMENTS: Final = 4
