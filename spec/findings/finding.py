"""A finding: a problem of a spec, its place, and the remedy."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ftc.spec.message import Message

Severity = Literal["error", "warning", "info"]
Safety = Literal["safe", "unsafe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a document; both numbers count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """One of several edits that each remove a problem: what it does, and the JSON patch."""

    says: Message
    fix: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A problem: `problem` says what is wrong, and `remedy` what to do.

    `message` and `help` are the two in English. `pointer` is a JSON pointer into the document as
    written ("" is the whole document); `fix` is a JSON patch (RFC 6902) on that document, or empty
    when no edit is certain to help. A fix is unsafe where it changes the model that comes out,
    drops an output that was asked for, or guesses at a model, a file or a column. `ways` are the
    edits to choose from where the intention decides; `fix` is one of them.
    """

    code: str
    name: str
    severity: Severity
    problem: Message
    remedy: Message
    pointer: str = ""
    position: Position | None = None
    fix: tuple[Mapping[str, Any], ...] = field(default=())
    fix_safety: Safety = "safe"
    ways: tuple[WayOut, ...] = ()

    @property
    def message(self) -> str:
        """What is wrong, in English."""
        return str(self.problem)

    @property
    def help(self) -> str:
        """What to do about it, in English."""
        return str(self.remedy)

    def at(self, position: Position | None) -> "Finding":
        """Return the same finding with a position."""
        return replace(self, position=position)


class EnvironmentFailure(Exception):  # noqa: N818 - it is the world that failed, not the spec
    """A failure of the environment (network, disk, conflict), with a sentence and a remedy.

    What the assistant can meet is a message of the catalogue; a plain string is English only.
    """

    exit_code = 3

    def __init__(self, *, message: Message | str, help: Message | str) -> None:  # noqa: A002
        super().__init__(str(message))
        self.problem = message
        self.remedy = help

    @property
    def message(self) -> str:
        """What failed, in English."""
        return str(self.problem)

    @property
    def help(self) -> str:
        """What to do about it, in English."""
        return str(self.remedy)


class UsageFailure(EnvironmentFailure):
    """A command line that names something that does not exist."""

    exit_code = 2
