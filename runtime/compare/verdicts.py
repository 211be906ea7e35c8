"""The bounds of a quantized model, and what follows from them, whoever quantized it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..run import Run
from . import noise_response

SIZE_TOLERANCE: Final = 0.02  # of the planned size: the plan's disk was counted with it


def find_bounds(
    bounds: Mapping[str, Any],
    noise: Mapping[str, Any],
    parts: Mapping[str, float],
    floor: float,
    found: Mapping[str, Any],
    **more: Any,
) -> tuple[float, dict[str, Any]]:
    """Return the divergence that a model should have, and its bounds.

    `bounds` have the names of the spec, and "measured" is replaced by a number. The others are
    those of `noise_response.derive`. What computes no numbers has nothing to expect: any bound
    fails it.
    """
    numbers = {name: 0.0 if number is None else number for name, number in found.items()}
    expected, measured = noise_response.derive(noise, parts, floor, numbers, **more)
    return expected, {
        name: measured[name] if bound == "measured" else bound for name, bound in bounds.items()
    }


def warn_of_size(run: Run, name: str, size_bytes: int, predicted_bytes: int) -> None:
    """Print a warning if a size is not the planned one."""
    off = size_bytes / predicted_bytes - 1
    if abs(off) > SIZE_TOLERANCE:
        run.say(f"warning: the size of {name} differs from the planned one by {off:+.1%}")


def stop_if_failed(run: Run, entries: Sequence[Mapping[str, Any]]) -> None:
    """End the stage if an entry of quality.json has a fault."""
    failed = [entry for entry in entries if entry["fault"] is not None]
    if failed:
        first = failed[0]
        more = f" (and {len(failed) - 1} more types failed)" if len(failed) > 1 else ""
        run.stop(f"{first['type']} differs too much from the trained model: {first['fault']}{more}")
