"""Rows packed to full length: how many remain, and how full they are, from the lengths alone."""

import random
from bisect import bisect_left, insort
from dataclasses import replace
from functools import cache
from itertools import accumulate

from ftc.compiler.resolve.facts import Lengths

_WINDOW = 1000  # rows that are packed at a time


def pack_lengths(lengths: Lengths, max_length: int, *, rows: int) -> tuple[int, Lengths]:
    """Return the rows that best-fit packing leaves of so many, and their lengths: all alike.

    Best fit, as the bundle's `packing.py` goes, on the histogram, whose upper edges stand for the
    rows of a bin, shrunk together so that their mean is the rows' own.
    """
    total = sum(count for _, count in lengths.histogram)
    if not total or not rows:
        return rows, lengths
    edges = sum(edge * count for edge, count in lengths.histogram) / total
    shrink = min(1.0, lengths.mean / max(1.0, edges))
    shrunk = tuple((round(edge * shrink), count) for edge, count in lengths.histogram)
    packed = max(1, round(rows * packed_share(shrunk, max_length)))
    mean = min(float(max_length), lengths.mean * rows / packed)
    full = replace(
        lengths,
        mean=mean,
        p50=max_length,
        p90=max_length,
        p95=max_length,
        p99=max_length,
        max=max_length,
        histogram=((max_length, packed),),
    )
    return packed, full


@cache
def packed_share(histogram: tuple[tuple[int, int], ...], length: int) -> float:
    """Return the packed rows of `length` tokens that a row of these (tokens, rows) pairs becomes.

    One window of rows, drawn at equal distances from the histogram and mixed, is packed.
    """
    ends = list(accumulate(rows for _, rows in histogram))
    count = min(_WINDOW, ends[-1])
    places = ((2 * place + 1) * ends[-1] / (2 * count) for place in range(count))
    sizes = [max(1, min(histogram[bisect_left(ends, place)][0], length)) for place in places]
    random.Random(0).shuffle(sizes)  # noqa: S311 - any order of chance
    return count_bins(sizes, length) / count


def count_bins(sizes: list[int], length: int) -> int:
    """Return the rows of `length` that best fit needs for rows in this order."""
    bins, rooms = 0, list[int]()  # what is left in each bin, rising
    for size in sizes:
        place = bisect_left(rooms, size)
        if place == len(rooms):
            bins, room = bins + 1, length
        else:
            room = rooms.pop(place)
        insort(rooms, room - size)
    return bins
