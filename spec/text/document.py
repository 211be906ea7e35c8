"""The document: the data of a spec file, and the position of each value."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from ftc.spec.findings.finding import Position
from ftc.spec.pointer import find_above, parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The start of a value, and of its key if it is a member of an object."""

    value: Position
    key: Position | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One loaded spec; `positions` maps JSON pointers to places.

    `name` is the file name that the user gave ("-" is standard input). Relative paths in the spec
    are relative to `folder`. `overridden` has the pointers of values that are not of the text.
    """

    name: str
    folder: Path
    text: str
    data: Any
    positions: Mapping[str, Place]
    overridden: frozenset[str] = frozenset()

    def position(self, pointer: str) -> Position | None:
        """Return the start of the value at the pointer, or of its nearest ancestor."""
        place = self._nearest(pointer)
        return place.value if place else None

    def key_position(self, pointer: str) -> Position | None:
        """Return the start of the key at the pointer, or of the value if it has no key."""
        place = self._nearest(pointer)
        return (place.key or place.value) if place else None

    def _nearest(self, pointer: str) -> Place | None:
        if find_above(pointer, self.overridden) is not None:
            return None
        while pointer and pointer not in self.positions:
            pointer = parent(pointer)
        return self.positions.get(pointer)


@dataclass(frozen=True, slots=True)
class Lines:
    """The offsets of a text's lines, to turn an offset into a position."""

    starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "Lines":
        """Return the lines of a text: a line ends with a line feed."""
        return cls(tuple(accumulate((len(line) + 1 for line in text.split("\n")), initial=0)))

    def position(self, offset: int) -> Position:
        """Return the position of a character of the text; columns count characters."""
        line = bisect_right(self.starts, offset)
        return Position(line=line, column=offset - self.starts[line - 1] + 1)
