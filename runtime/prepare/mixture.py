"""Mixes several sources of data: chooses the rows of an epoch, and reports on each source."""

import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .preparing import Records, Rows
from .splitting import Splits


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of each source, for the data report."""

    rows: Rows
    records: Records
    splits: Splits

    def place_of(self, row: int) -> dict[str, Any]:
        """Return the source of a row, and its number there, counted from 1."""
        source = int(self.rows.origins[row - 1])
        before = sum(self.rows.counts[:source])
        return {"source": self.rows.sources[source].name, "row": row - before}

    def count_sources(self) -> list[dict[str, Any]]:
        """Return the row counts of each source; repeated rows count in training."""
        origins = np.asarray(self.records.origins)
        return [
            {
                "source": source.name,
                "read": self.rows.counts[number],
                "used": self.records.origins.count(number),
                **{name: int((origins[s] == number).sum()) for name, s in self.splits.items()},
            }
            for number, source in enumerate(self.rows.sources)
        ]

    def write_table(self) -> list[str]:
        """Return the lines of the table of sources, preceded by a blank line."""
        lines = ["", "| source | read | used | train | validation | test |"]
        lines += ["| --- | ---: | ---: | ---: | ---: | ---: |"]
        for counted in self.count_sources():
            name, *numbers = counted.values()
            lines.append(f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |")
        return lines


def name_sources(rows: Rows, records: Records, split: Sequence[int]) -> list[str]:
    """Return the source of each line of a split; a long text is a record of several lines."""
    lines = zip(split, records.read(split), strict=True)
    sources = ((rows.sources[records.origins[record]].name, text) for record, text in lines)
    return [name for name, text in sources for _ in range(text.count(b"\n"))]


def mix(
    split: Sequence[int],
    origins: Sequence[int],
    *,
    weights: Sequence[float],
    max_repeats: Sequence[int],
    seed: int,
) -> "array[int]":
    """Return the training records of one epoch, in the proportion of the weights.

    The epoch is the shortest that contains every record, or shorter if one would be in it more
    often than `max_repeats` allows. The last, partial repeat of a source is drawn. `origins` has
    the number of its source for each record.
    """
    records, of = np.asarray(split), np.asarray(origins)
    own = [records[of[records] == number].tolist() for number in range(len(weights))]
    weighed = list(zip(own, weights, max_repeats, strict=True))
    whole = sum(weight for rows, weight, _ in weighed if rows)
    longest = max(len(rows) * whole / weight for rows, weight, _ in weighed if rows)
    most = min(len(rows) * times * whole / weight for rows, weight, times in weighed if rows)
    epoch = array("I")
    for rows, weight, times in weighed:
        wanted = min(len(rows) * times, round(min(longest, most) * weight / whole))
        again, rest = divmod(wanted, max(1, len(rows)))
        epoch.extend(rows * again + rows[:rest])
    random.Random(seed).shuffle(epoch)  # noqa: S311 - an order, no secret
    return epoch
