"""The memory of a plan as bars: one per phase, stacked by what it is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.plan import Memory

# part -> its mark on a terminal that has block elements, and on one that has not
PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "static": ("█", "#"),
    "gradients": ("▓", "="),
    "activations": ("▒", "+"),
    "loss": ("░", "~"),
    "copies": ("▞", "-"),
    "gathered": ("▖", "."),
    "cache": ("▚", ":"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One phase: its parts in bytes, in the order of `PARTS`."""

    phase: str
    parts: tuple[tuple[str, int], ...]

    @property
    def total_bytes(self) -> int:
        """Return the phase's peak."""
        return sum(size for _, size in self.parts)


def make_bars(memory: Memory) -> tuple[Bar, ...]:
    """Return one bar per phase, in the order of a run."""
    return tuple(
        Bar(
            phase=phase.replace("_", " "),
            parts=tuple((part, parts[part]) for part in PARTS if parts.get(part)),
        )
        for phase, parts in memory.parts.items()
    )
