"""The one line that answers: does it fit, at what peak, in how many hours, for what cost."""

from typing import Final

from ftc.compiler.plan.plan import Memory, Plan

_MEBI: Final = 1024**2
_GIBI: Final = 1024**3


def headline(name: str, plan: Plan) -> str:
    """Return the line that says whether it fits, at what peak, in how many hours, at what cost."""
    verdict = {True: "fits", False: "does not fit", None: "may fit"}[plan.memory.fits]
    steps = plan.decisions.total_steps.value
    time = "" if plan.time_seconds is None else f", about {say_seconds(plan.time_seconds)}"
    cost = "" if plan.cost is None else f", cost {say_cost(plan.cost.total)}"
    return f"{name} {verdict}: {_peak(plan.memory)}; {steps:,} steps{time}{cost}"


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
