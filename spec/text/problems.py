"""The problems of one text: a bounded list of findings that a reader adds to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ftc.spec.findings.explanation import Explanation
from ftc.spec.findings.file_explanations import DUPLICATE_KEY, TOO_DEEP, TOO_MANY_VALUES
from ftc.spec.findings.finding import Finding, Position
from ftc.spec.message import Value
from ftc.spec.text.document import Lines, Place

DEEPEST: Final = 64
LONGEST_NUMBER: Final = 1000
MOST_VALUES: Final = 10_000
MOST_PROBLEMS: Final = 50


class StopReading(Exception):  # noqa: N818 - control flow, not an error
    """The rest of the text cannot be understood; the findings say why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of reading a text: `data` is incomplete if `stopped`, otherwise repaired.

    It is `certain` that the repaired data are what the text says if its grammar alone is wrong.
    """

    data: Any
    positions: Mapping[str, Place]
    findings: tuple[Finding, ...]
    stopped: bool = False
    certain: bool = False


@dataclass(slots=True)
class Problems:
    """Findings located by their offset in the text; `certain` if none leaves its meaning open."""

    lines: Lines
    found: list[Finding] = field(default_factory=list)
    certain: bool = True

    def add(
        self,
        explanation: Explanation,
        offset: int,
        *,
        message: str = "",
        help: str = "",  # noqa: A002 - the finding's field
        pointer: str = "",
        certain: bool = False,
        **values: Value,
    ) -> None:
        """Note a problem that the reader can recover from; raises StopReading after the 50th.

        `message`, `help` and `values` are those of `Explanation.finding`. It is `certain` what the
        text means there.
        """
        self.certain = self.certain and certain
        finding = explanation.finding(message=message, help=help, pointer=pointer, fix=(), **values)
        self.found.append(finding.at(self.position(offset)))
        if len(self.found) >= MOST_PROBLEMS:
            raise StopReading

    def add_twice(self, offset: int, pointer: str, key: str, *, same: bool) -> None:
        """Note a key that occurs twice, the second time with the same value or with another."""
        help_ = "same" if same else ""
        self.add(DUPLICATE_KEY, offset, help=help_, pointer=pointer, certain=True, key=key)

    def stop(
        self,
        explanation: Explanation,
        offset: int,
        *,
        message: str = "",
        help: str = "",  # noqa: A002 - the finding's field
        pointer: str = "",
        **values: Value,
    ) -> StopReading:
        """Note a problem and return the exception that ends the reading."""
        self.certain = False
        finding = explanation.finding(message=message, help=help, pointer=pointer, fix=(), **values)
        self.found.append(finding.at(self.position(offset)))
        return StopReading()

    def check_size(self, values: int, depth: int, offset: int) -> None:
        """Stop at a container more than 64 deep, or at the 10,001st value; `values` were read."""
        if values > MOST_VALUES:
            raise self.stop(TOO_MANY_VALUES, offset, most=MOST_VALUES)
        if depth > DEEPEST:
            raise self.stop(TOO_DEEP, offset, deepest=DEEPEST)

    def position(self, offset: int) -> Position:
        """Return the position of an offset in the text."""
        return self.lines.position(offset)
