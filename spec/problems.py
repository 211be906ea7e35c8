"""The problems of one text: a bounded list of findings that a reader fills as it goes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ftc.spec.document import Lines, Place
from ftc.spec.file_pages import TOO_DEEP, TOO_MANY_VALUES
from ftc.spec.finding import Finding, Position
from ftc.spec.page import Page

DEEPEST: Final = 64
LONGEST_NUMBER: Final = 1000
MOST_VALUES: Final = 10_000
MOST_PROBLEMS: Final = 50


class StopReading(Exception):  # noqa: N818 - it ends a text that cannot be read further
    """What follows cannot be understood; the findings say why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader made of a text: `data` is incomplete where `stopped`, repaired otherwise."""

    data: Any
    positions: Mapping[str, Place]
    findings: tuple[Finding, ...]
    stopped: bool = False


@dataclass(slots=True)
class Problems:
    """Findings located by their offset in the text."""

    lines: Lines
    found: list[Finding] = field(default_factory=list)

    def add(
        self,
        page: Page,
        offset: int,
        message: str,
        help: str,  # noqa: A002 - the finding's field
        *,
        pointer: str = "",
    ) -> None:
        """Note a problem that the reader can recover from; raises StopReading after the 50th."""
        finding = page.finding(message=message, help=help, pointer=pointer)
        self.found.append(finding.at(self.position(offset)))
        if len(self.found) >= MOST_PROBLEMS:
            raise StopReading

    def stop(
        self,
        page: Page,
        offset: int,
        message: str,
        help: str,  # noqa: A002 - the finding's field
        *,
        pointer: str = "",
    ) -> StopReading:
        """Note a problem and return the exception that ends the reading."""
        self.add(page, offset, message, help, pointer=pointer)
        return StopReading()

    def check_size(self, values: int, depth: int, offset: int) -> None:
        """Stop at a container more than 64 deep, and at the 10,001st value; `values` are read."""
        if values > MOST_VALUES:
            raise self.stop(
                TOO_MANY_VALUES,
                offset,
                f"the spec holds more than {MOST_VALUES:,} values",
                "no spec needs so many: is this the data?",
            )
        if depth > DEEPEST:
            raise self.stop(
                TOO_DEEP,
                offset,
                f"nesting is more than {DEEPEST} deep",
                "no spec needs more than five levels: is this the right file?",
            )

    def position(self, offset: int) -> Position:
        """Return the position of an offset in the text."""
        return self.lines.position(offset)
