"""What was understood of a message: changes to the draft, a request, and what stayed open."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

RequestKind = Literal[
    "cheaper", "compile", "explain", "fit", "hello", "help", "judge", "load", "models", "no",
    "plan", "quit", "redo", "restart", "retry", "save", "show", "undo", "unsure", "what_if", "why",
    "yes",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One value of the draft: a pointer into the long form, and the words that said it.

    A value of None takes the field out of the draft, so that it is planned again.
    """

    pointer: str
    value: Any
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Something to do that changes nothing by itself; `about` is what it is asked of."""

    kind: RequestKind
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Words that fit several values of a field: the person has to choose."""

    pointer: str
    values: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All that a message was taken for; `rest` holds the words that nothing read.

    `refused` holds changes that the schema does not take, such as a dropout of 5.
    """

    changes: tuple[Change, ...] = ()
    request: Request | None = None
    choices: tuple[Choice, ...] = field(default=())
    rest: str = ""
    refused: tuple[Change, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing was understood."""
        return not (self.changes or self.request or self.choices or self.refused)


class Understander(Protocol):
    """Reads messages; what one that is not `sure` reads is proposed, not applied."""

    @property
    def sure(self) -> bool:
        """Whether what it reads may be applied unasked."""

    def read(self, text: str, draft: Mapping[str, Any]) -> Reading:
        """Return what a message says; `draft` is the long form of what was said so far."""
