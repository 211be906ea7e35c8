"""The bars of a plan's memory, drawn on a terminal."""

from collections.abc import Iterator

from ftc.compiler.plan.plan import Memory
from ftc.compiler.plan.summary.headline import PARTS, Bar, make_bars


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
