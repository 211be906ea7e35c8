"""How rows of the data lie side by side in a batch: padded, grouped by length, or packed."""

from dataclasses import dataclass, replace
from typing import Final

from ftc.compiler.plan.lengths import round_up
from ftc.compiler.plan.packing import pack_lengths
from ftc.compiler.resolve.facts import Lengths

_FULL_ENOUGH: Final = 0.95  # of a packed row; longer ones are hardly fuller
_GROUPED_PADDING: Final = 1.05  # tokens of a batch of alike rows, over those without padding


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """What batches are made of: `rows` of an epoch and their `lengths`.

    `length_tokens` is the most that one has. `each` rows of the data are in one on average: 1 where
    they are not packed. `sorted`: those of a step lie by length, drawn at random as they are.
    `together`: so many are padded to one length before they are cut into passes, where they are.
    """

    packed: bool = False
    grouped: bool = False
    sorted: bool = False
    together: int = 0
    rows: int
    lengths: Lengths
    length_tokens: int
    each: float = 1.0

    @property
    def data_rows(self) -> int:
        """The rows of the data that an epoch has."""
        return round(self.rows * self.each)

    @property
    def fill(self) -> float:
        """The share of a row of full length that is not padding."""
        return self.lengths.mean / self.length_tokens


def pad_rows(lengths: Lengths, *, rows: int, max_length: int, by_length: bool) -> Arrangement:
    """Each row of the data by itself, in the order of chance; those of a step by length or not."""
    return Arrangement(sorted=by_length, rows=rows, lengths=lengths, length_tokens=max_length)


def group_rows(lengths: Lengths, *, rows: int, max_length: int) -> Arrangement:
    """Each row by itself, beside rows that are about as long.

    `grouping.py` sorts fifty steps at a time, so that a batch is hardly padded.
    """
    mean = min(lengths.mean, max_length)
    alike = replace(lengths, mean=_GROUPED_PADDING * mean, histogram=((max(1, round(mean)), rows),))
    return Arrangement(grouped=True, rows=rows, lengths=alike, length_tokens=max_length)


def pack_rows(
    lengths: Lengths, *, rows: int, max_length: int, most_tokens: float
) -> Arrangement | None:
    """Rows packed to doublings of the longest, the first that is full; none above `most_tokens`.

    None where not even rows of `max_length` stay below it, or where there is nothing to pack. A row
    cut by `max_length` counts with what is left of it.
    """
    best: Arrangement | None = None
    length = round_up(max_length)
    while length <= most_tokens and rows:
        packed, theirs = pack_lengths(_cut(lengths, max_length), length, rows=rows)
        each = rows / packed
        tried = Arrangement(
            packed=True, rows=packed, lengths=theirs, length_tokens=length, each=each
        )
        if best is None or tried.fill > best.fill:
            best = tried
        if tried.fill >= _FULL_ENOUGH:
            break
        length *= 2
    return best


def split_lengths(lengths: Lengths, max_length: int) -> tuple[float, Lengths]:
    """Return the pieces that a row is split into on average, and the lengths of pieces.

    A bin's rows are taken to be shorter than its upper edge by as much as all rows are.
    """
    pieces: dict[int, int] = {}
    total = sum(count for _, count in lengths.histogram)
    edges = sum(edge * count for edge, count in lengths.histogram)
    shrink = min(1.0, lengths.mean * total / edges) if edges else 1.0
    for edge, count in lengths.histogram:
        whole, rest = divmod(round(edge * shrink), max_length)
        for size, number in ((max_length, whole * count), (rest, count)):
            if size and number:
                pieces[size] = pieces.get(size, 0) + number
    share = sum(pieces.values()) / total if total else 1.0
    mean = min(lengths.mean / share, max_length)
    return share, replace(
        lengths,
        mean=mean,
        max=min(lengths.max, max_length),
        histogram=tuple(sorted(pieces.items())),
    )


def _cut(lengths: Lengths, max_length: int) -> Lengths:
    edges = tuple((min(edge, max_length), count) for edge, count in lengths.histogram)
    return replace(lengths, mean=min(lengths.mean, max_length), histogram=edges)
