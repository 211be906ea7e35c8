"""What a rehearsal leaves: its stages with their times, why it failed, what it could not show."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ftc.spec.finding import Finding

Status = Literal["ok", "failed", "not rehearsed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage that ran; `result` is what it came to, in a few words."""

    name: str
    status: Status
    seconds: float
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why the rehearsal stopped: the last lines that were said, and what they mean for the run.

    `log` is where everything that was said is kept; None where no script ran yet.
    """

    stage: str
    cause: str
    meaning: str
    log: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unshown:
    """Something of the real run that a CPU cannot show, and what proves it instead."""

    what: str
    instead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A rehearsal from its start to its end; `findings` are those of the real spec.

    `folder` is where the files are kept; None where they were removed.
    """

    name: str | None
    stages: tuple[Stage, ...]
    failure: Failure | None
    unshown: tuple[Unshown, ...]
    findings: tuple[Finding, ...]
    folder: Path | None


class StageFailed(Exception):  # noqa: N818 - it is the stage that failed
    """A stage ended without what it is for; the text is the cause."""


#: Called when a stage begins (with None) and when it ends.
Tell = Callable[[str, Stage | None], None]
