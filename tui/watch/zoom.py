"""The range of steps that a curve shows: all, the last half or the last n, perhaps shifted."""

from dataclasses import dataclass, replace
from typing import Final

from ftc.tui.watch.training import Curve

#: The number of steps for the key that shows the last ones.
LAST_STEPS: Final = 100
_LEAST_STEPS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Zoom:
    """Shows a `share` of all steps, or a number of `steps`, at a distance `back` from the last.

    With a distance of 0, the range follows a run in progress.
    """

    share: float = 1.0
    steps: int | None = None
    back: int = 0

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the first and the last shown step of a curve between two steps."""
        width = self._width(first, last)
        end = max(last - self.back, first + width)
        return end - width, end

    def nearer(self, first: int, last: int) -> "Zoom":
        """Return the second half of the range."""
        return replace(self, steps=max(_LEAST_STEPS, self._width(first, last) // 2))

    def farther(self, first: int, last: int) -> "Zoom":
        """Return a range twice as long, at most all steps."""
        steps = 2 * self._width(first, last)
        return Zoom() if steps >= last - first else replace(self, steps=steps)

    def moved(self, quarters: int, first: int, last: int) -> "Zoom":
        """Return the range shifted by quarters of its length; a negative number shifts it back."""
        width = self._width(first, last)
        back = self.back - quarters * max(1, width // 4)
        return replace(self, back=min(max(0, back), max(0, last - first - width)))

    def _width(self, first: int, last: int) -> int:
        whole = last - first
        wanted = round(whole * self.share) if self.steps is None else self.steps
        return min(whole, max(1, wanted))


ALL: Final = Zoom()
LAST_HALF: Final = Zoom(share=0.5)
LAST_N: Final = Zoom(steps=LAST_STEPS)


def cut(curve: Curve, first: int, last: int) -> Curve:
    """Return the points of a curve between two steps, both included."""
    return tuple(point for point in curve if first <= point[0] <= last)
