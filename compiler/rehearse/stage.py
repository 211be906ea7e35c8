"""The result of a rehearsal: its stages with their times, its failure, what it could not test."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ftc.spec.findings.finding import Finding

Status = Literal["ok", "failed", "not rehearsed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage that ran; `result` describes its result in a few words."""

    name: str
    status: Status
    seconds: float
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why the rehearsal stopped: the last lines of output, and what the failure means for the run.

    `log` is the file with the full output; None if no script ran yet.
    """

    stage: str
    cause: str
    meaning: str
    log: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotShown:
    """A part of the real run that a CPU cannot test, and what tests it instead."""

    what: str
    instead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A complete rehearsal; `findings` are those of the real spec.

    `folder` is where the files are kept; None if they were removed.
    """

    name: str | None
    stages: tuple[Stage, ...]
    failure: Failure | None
    unshown: tuple[NotShown, ...]
    findings: tuple[Finding, ...]
    folder: Path | None


class StageFailed(Exception):  # noqa: N818 - the stage failed
    """A stage failed; the text is the cause."""


#: Called when a stage begins (with None) and when it ends.
Tell = Callable[[str, Stage | None], None]
