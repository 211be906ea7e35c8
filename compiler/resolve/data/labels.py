"""Labels: whether the answers form a closed set, as in a classification."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from ftc.compiler.resolve.facts import Label, OpenAnswers

MOST_LABELS: Final = 200
MOST_CLASSES: Final = 1000  # that a head tells apart; words would be written for fewer
_LONGEST_CHARS: Final = 80
FEWEST_ROWS_EACH: Final = 5  # on average


@dataclass(slots=True, kw_only=True)
class LabelCount:
    """Counts answers until they show that they are no closed set, and why: `open_by`."""

    counts: Counter[str] = field(default_factory=Counter)
    open_by: OpenAnswers | None = None

    def add(self, answer: str) -> None:
        """Count one answer."""
        if self.open_by is not None:
            return
        self.counts[answer] += 1
        if len(answer) > _LONGEST_CHARS:
            self.open_by = OpenAnswers(reason="length", number=len(answer), most=_LONGEST_CHARS)
        elif len(self.counts) > MOST_CLASSES:
            self.open_by = OpenAnswers(reason="values", number=len(self.counts), most=MOST_CLASSES)
        if self.open_by is not None:
            self.counts.clear()

    def why_open(self, most: int = MOST_LABELS) -> OpenAnswers | None:
        """Return why the answers are no closed set of at most `most` labels; None where they are.

        Answers that were never counted are none either.
        """
        values, rows = len(self.counts), self.counts.total()
        if self.open_by is not None:
            return self.open_by
        if values > most:
            return OpenAnswers(reason="values", number=values, most=most)
        if rows < FEWEST_ROWS_EACH * values:
            return OpenAnswers(reason="rows", number=rows, most=values)
        return None

    def labels(self, most: int = MOST_LABELS) -> tuple[Label, ...]:
        """Return the closed set by name; empty unless there are rows enough for each."""
        if self.why_open(most) is not None:
            return ()
        return tuple(Label(name=name, rows=rows) for name, rows in sorted(self.counts.items()))
