"""Labels: whether the answers form a closed set, as in a classification."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from ftc.compiler.resolve.facts import Label

MOST_LABELS: Final = 200
MOST_CLASSES: Final = 1000  # that a head tells apart; words would be written for fewer
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
        if len(answer) > _LONGEST_CHARS or len(self.counts) > MOST_CLASSES:
            self.closed = False
            self.counts.clear()

    def labels(self, most: int = MOST_LABELS) -> tuple[Label, ...]:
        """Return the closed set by name; empty unless there are rows enough for each."""
        total = self.counts.total()
        if (
            not self.closed
            or len(self.counts) > most
            or total < _FEWEST_ROWS_EACH * len(self.counts)
        ):
            return ()
        return tuple(Label(name=name, rows=rows) for name, rows in sorted(self.counts.items()))
