"""The present state of a run, read from the files of its bundle."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.watch.expectation import PLAN_NAME, Expectation, read_expectation
from ftc.tui.watch.gpus import GpuLoad, read_loads
from ftc.tui.watch.records import Mark, Record, read_object, read_records, thin
from ftc.tui.watch.stages import Stage, read_stages
from ftc.tui.watch.tail import read_output
from ftc.tui.watch.training import Training, read_training

STAGES_NAME: Final = "run/stages.jsonl"
LOG_NAME: Final = "run/train/log.jsonl"
#: Between two stages, no stage is running while Python starts.
_BETWEEN_SECONDS: Final = 20.0
_GPU_SECONDS: Final = 3.0
_OUTPUT_LINES: Final = 100

State = Literal["waiting", "running", "stopped", "failed", "gone", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`evaluation` maps the measurements of the last evaluation to their values, without `eval_`.

    `now` is the time of reading in seconds since 1970. `left_seconds` is the remaining time of
    training at its pace. `gpus` are the GPUs of this machine while a stage runs on it. `output` is
    the last printed output.
    """

    folder: Path
    name: str
    state: State
    now: float
    stages: tuple[Stage, ...]
    expected: Expectation
    training: Training
    evaluation: Mapping[str, float] = field(default_factory=dict)
    evaluated_step: int | None = None
    damaged: int = 0
    gpus: tuple[GpuLoad, ...] = ()
    output: tuple[str, ...] = ()

    @property
    def current(self) -> Stage | None:
        """The running stage, or else the last active one."""
        active = [stage for stage in self.stages if stage.began is not None]
        running = [stage for stage in active if stage.status == "running"]
        return max(running or active, key=lambda stage: stage.order, default=None)

    @property
    def total_steps(self) -> int | None:
        """The steps of the Trainer or, before it starts, of the plan."""
        return self.training.steps or self.expected.steps

    @property
    def left_seconds(self) -> float | None:
        """The remaining time of training at its current pace; None if it is not running."""
        pace, total = self.training.pace_seconds, self.total_steps
        if pace is None or total is None or not self.is_training:
            return None
        return pace * max(0, total - self.training.step)

    @property
    def is_here(self) -> bool:
        """Whether a stage is running on this machine."""
        current = self.current
        return current is not None and current.status == "running" and not current.elsewhere

    @property
    def is_training(self) -> bool:
        """Whether training is the running stage."""
        current = self.current
        return current is not None and current.name == "train" and current.status == "running"


class Watched:
    """A bundle whose files are read repeatedly, each from the end of the last reading."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stages = _Log(folder / STAGES_NAME)
        self._training = _Log(folder / LOG_NAME)
        self._read: Training | None = None
        self._loads: tuple[GpuLoad, ...] = ()
        self._asked = -math.inf

    def look(self, now: float) -> Run:
        """Return the state of the run; raises EnvironmentFailure if there is no bundle."""
        plan = read_object(self.folder / PLAN_NAME)
        if plan is None and not (self.folder / STAGES_NAME).is_file():
            raise _no_bundle(self.folder)
        expected = read_expectation(plan or {})
        self._stages.read()
        if self._training.read() or self._read is None:
            self._read = read_training(self._training.records, expected.tokens_per_step)
        run = make_run(
            folder=self.folder,
            expected=expected,
            stages=read_stages(self._stages.records, expected.stages, now),
            training=self._read,
            damaged=self._stages.damaged + self._training.damaged,
            now=now,
        )
        gpus = self._ask_gpus(now) if run.is_here else ()
        return replace(run, gpus=gpus, output=read_output(self.folder, _OUTPUT_LINES))

    def _ask_gpus(self, now: float) -> tuple[GpuLoad, ...]:
        """Return the load of the GPUs, which is queried less often than the files are read."""
        if now - self._asked >= _GPU_SECONDS:
            self._loads, self._asked = read_loads(), now
        return self._loads


class _Log:
    """The records of a file that grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[Record] = []
        self.damaged = 0
        self._mark = Mark()

    def read(self) -> bool:
        """Read new records, and return whether there were any."""
        try:
            reading = read_records(self.path, self._mark)
        except OSError as error:
            raise EnvironmentFailure(
                message=f"`{self.path}` cannot be read: {error.strerror or error}",
                help="watch the run as the user who started it, or let that user's group read it",
            ) from error
        if reading.afresh:
            self.records, self.damaged = [], 0
        self.records = thin([*self.records, *reading.records])
        self.damaged += reading.damaged
        self._mark = reading.mark
        return reading.afresh or bool(reading.records)


def make_run(
    *,
    folder: Path,
    expected: Expectation,
    stages: tuple[Stage, ...],
    training: Training,
    damaged: int,
    now: float,
) -> Run:
    """Return the run made of these parts."""
    evaluated = {
        name.removeprefix("eval_"): curve[-1]
        for name, curve in training.curves.items()
        if name.startswith("eval_")
    }
    last = max((step for step, _ in evaluated.values()), default=None)
    return Run(
        folder=folder,
        name=expected.name or folder.resolve().name,
        state=_find_state(stages, expected, now),
        now=now,
        stages=stages,
        expected=expected,
        training=training,
        evaluation={name: value for name, (step, value) in evaluated.items() if step == last},
        evaluated_step=last,
        damaged=damaged,
    )


def _find_state(stages: tuple[Stage, ...], expected: Expectation, now: float) -> State:
    begun = [stage for stage in stages if stage.began is not None]
    if not begun:
        return "waiting"
    if any(stage.status == "running" for stage in stages):
        return "running"
    last = max(begun, key=lambda stage: stage.order)
    if last.status in ("stopped", "failed", "gone"):
        return last.status
    wanted = {stage.name: stage.status for stage in stages if stage.name in expected.stages}
    if all(status == "done" for status in wanted.values()):
        return "done"
    ended = (last.began or 0.0) + (last.seconds or 0.0)
    return "running" if abs(now - ended) < _BETWEEN_SECONDS else "stopped"


def _no_bundle(folder: Path) -> EnvironmentFailure:
    if not folder.is_dir():
        is_file = folder.is_file()
        return EnvironmentFailure(
            message=f"`{folder}` is a file" if is_file else f"there is no folder `{folder}`",
            help="give the folder of a bundle, which contains run.sh",
        )
    if (folder / PLAN_NAME).is_file():
        return EnvironmentFailure(
            message=f"`{folder / PLAN_NAME}` is damaged: it is not a JSON object",
            help="compile the bundle again with `ftc compile`, which rewrites the file",
        )
    return EnvironmentFailure(
        message=f"`{folder}` is not a bundle: it has neither {PLAN_NAME} nor {STAGES_NAME}",
        help="give the folder that contains run.sh; if an older ftc compiled it, compile it again",
    )
