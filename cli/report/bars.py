"""The memory of a plan as bars: one per phase, stacked by what it is made of."""

from collections.abc import Iterator, Mapping
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


def draw_bars(memory: Memory, *, columns: int, plain: bool) -> Iterator[tuple[Bar, str]]:
    """Yield each bar with its drawing, all to one scale; `plain` keeps to ASCII.

    The scale ends at the capacity, or at the largest bar where that is longer.
    """
    bars = make_bars(memory)
    scale = max([memory.capacity_bytes or 0, *(bar.total_bytes for bar in bars), 1])
    for bar in bars:
        drawn, done = "", 0
        for part, size in bar.parts:
            done += size
            drawn += PARTS[part][plain] * (round(done / scale * columns) - len(drawn))
        yield bar, drawn


def legend(memory: Memory, *, plain: bool) -> str:
    """Return the marks that the bars use, with their names."""
    used = {part for parts in memory.parts.values() for part, size in parts.items() if size}
    return "  ".join(f"{marks[plain]} {part}" for part, marks in PARTS.items() if part in used)
