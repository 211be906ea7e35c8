"""The plan in one line (fit, peak, hours, cost), and its memory as one bar per phase."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.plan import Memory, Plan

_MEBI: Final = 1024**2
_GIBI: Final = 1024**3
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


def headline(name: str, plan: Plan) -> str:
    """Return the line with the fit, the peak, the hours and the cost.

    A plan that does not fit has no time and no cost.
    """
    verdict = {True: "fits", False: "does not fit", None: "may fit"}[plan.memory.fits]
    steps = f"{say_steps(plan)} steps"
    if plan.memory.fits is False:
        return f"{name} {verdict}: {_peak(plan.memory)}; {steps}"
    time = "" if plan.time_seconds is None else f", about {say_seconds(plan.time_seconds)}"
    cost = "" if plan.cost is None else f", cost {say_cost(plan.cost.total)}"
    return f"{name} {verdict}: {_peak(plan.memory)}; {steps}{time}{cost}"


def say_steps(plan: Plan) -> str:
    """Return the number of steps, with "about" if it is an estimate."""
    total = plan.decisions.training.total_steps
    about = "about " if total.because.key == "steps.epochs.estimate" else ""
    return f"{about}{total.value:,}"


def _peak(memory: Memory) -> str:
    if memory.capacity_bytes is None:
        return f"peak {say_bytes(memory.device_bytes)} per process, of an unknown capacity"
    return f"peak {say_bytes(memory.device_bytes)} of {say_bytes(memory.capacity_bytes)}"


def say_bytes(size: int) -> str:
    """Return a size such as "14.2 GiB", or in MiB where GiB would show nothing."""
    return f"{size / _GIBI:.1f} GiB" if size >= _GIBI else f"{size / _MEBI:.0f} MiB"


def say_cost(amount: float) -> str:
    """Return an amount such as "12.40", or "1,240" where cents are noise; it has no currency."""
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:.2f}"  # noqa: PLR2004 - four digits


def say_seconds(seconds: float) -> str:
    """Return a duration such as "3.2 h", "12 min" or "40 s"."""
    if seconds >= 3600:  # noqa: PLR2004 - an hour
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"  # noqa: PLR2004


def make_bars(memory: Memory) -> tuple[Bar, ...]:
    """Return one bar per phase, in the order of a run."""
    return tuple(
        Bar(
            phase=phase.replace("_", " "),
            parts=tuple((part, parts[part]) for part in PARTS if parts.get(part)),
        )
        for phase, parts in memory.parts.items()
    )
