"""The memory of a plan as bars, one per phase, divided into weights, gradients and so on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.plan import Memory

#: The kinds of memory in the order of a bar, each with its own mark.
MARKS: Final[Mapping[str, str]] = {
    "weights": "\u2588",
    "optimizer": "\u2593",
    "gradients": "\u2592",
    "activations": "\u2591",
    "loss": "\u259e",
    "copies": "\u2584",
    "gathered": "\u2580",
    "cache": "\u259a",
    "margin": "\u2571",
    "context": "\u25aa",
}
LIMIT: Final = "\u2502"
FREE: Final = "\u00b7"
#: The phase before the optimizer states exist.
_FIRST: Final = "load"

Part = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A phase and its parts in bytes, in the order of `MARKS`; its peak includes the safety margin.

    `is_largest` marks the phase that decides whether the run fits.
    """

    phase: str
    parts: tuple[Part, ...]
    is_largest: bool

    @property
    def total_bytes(self) -> int:
        """The peak of the phase."""
        return sum(size for _, size in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """The bars in the order of a run, and the memory of a device, if known."""

    bars: tuple[Bar, ...]
    capacity_bytes: int | None

    @property
    def largest(self) -> Bar:
        """The bar of the phase that decides whether the run fits."""
        return next(bar for bar in self.bars if bar.is_largest)

    @property
    def scale_bytes(self) -> int:
        """The bytes of the full width: the limit, or the longest bar if it is longer."""
        return max([self.capacity_bytes or 0, *(bar.total_bytes for bar in self.bars), 1])


def make_gauge(memory: Memory) -> Gauge | None:
    """Return the bars of a plan's memory; None if the plan has no parts.

    The memory of a process outside the parts (fragmentation, the margin, and memory outside torch's
    allocator) is the same for each phase.
    """
    if not memory.parts:
        return None
    beside = {
        "margin": memory.reserved_bytes - memory.allocated_bytes,
        "context": memory.device_bytes - memory.reserved_bytes,
    }
    bars = tuple(
        Bar(
            phase=phase,
            parts=tuple((_parts(memory, phase) | beside).items()),
            is_largest=phase == memory.largest_phase,
        )
        for phase in memory.parts
    )
    return Gauge(bars=bars, capacity_bytes=memory.capacity_bytes)


def draw(gauge: Gauge, bar: Bar, columns: int) -> Iterator[tuple[str, str]]:
    """Yield the segments of a bar, each with its name: a part, "free" or "limit".

    All bars of a gauge have the same scale and width, including the mark of the limit. Memory that
    does not fit extends beyond that mark. A part smaller than a cell is not drawn.
    """
    cells = _cells(bar.parts, gauge.scale_bytes, columns - 1)
    limit = gauge.capacity_bytes
    if limit is None:
        yield from _runs([*cells, "free"])
        return
    at = round(limit / gauge.scale_bytes * (columns - 1))
    yield from _runs([*cells[:at], "limit", *cells[at:]])


def _cells(parts: Sequence[Part], scale_bytes: int, columns: int) -> list[str]:
    cells: list[str] = []
    done = 0
    for part, size in parts:
        done += size
        cells += [part] * (round(done / scale_bytes * columns) - len(cells))
    return [*cells, *["free"] * (columns - len(cells))]


def _runs(cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    marks = {**MARKS, "free": FREE, "limit": LIMIT}
    begin = 0
    for place in range(1, len(cells) + 1):
        if place == len(cells) or cells[place] != cells[begin]:
            yield cells[begin], marks[cells[begin]] * (place - begin)
            begin = place


def _parts(memory: Memory, phase: str) -> dict[str, int]:
    """Return the parts of a phase, with the static part divided into weights and optimizer."""
    said = memory.parts[phase]
    static = said.get("static", 0)
    states = 0 if phase == _FIRST else min(memory.optimizer_bytes, static)
    divided = {**said, "weights": static - states, "optimizer": states}
    return {part: divided[part] for part in MARKS if divided.get(part)}
