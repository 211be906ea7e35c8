"""Labels: whether the answers form a closed set, as in a classification."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from ftc.compiler.resolve.facts import Label

_MOST_LABELS: Final = 200
_LONGEST_CHARS: Final = 80
_FEWEST_ROWS_EACH: Final = 5


@dataclass(slots=True, kw_only=True)
class LabelCount:
    """Counts answers until they show that they are no closed set."""

    counts: Counter[str] = field(default_factory=Counter)
    closed: bool = True

    def add(self, answer: str) -> None:
        """Count one answer."""
        if not self.closed:
            return
        self.counts[answer] += 1
        if len(answer) > _LONGEST_CHARS or len(self.counts) > _MOST_LABELS:
            self.closed = False
            self.counts.clear()

    def labels(self) -> tuple[Label, ...]:
        """Return the closed set by name; empty unless there are rows enough for each."""
        total = self.counts.total()
        if not self.closed or total < _FEWEST_ROWS_EACH * len(self.counts):
            return ()
        return tuple(Label(name=name, rows=rows) for name, rows in sorted(self.counts.items()))
