"""Rows packed to full length: how many remain, and how full they are, from the lengths alone."""

from dataclasses import replace

from ftc.compiler.resolve.facts import Lengths


def pack_lengths(lengths: Lengths, max_length: int, *, rows: int) -> tuple[int, Lengths]:
    """Return the rows that best-fit packing leaves of so many, and their lengths: all alike.

    TRL's `bfd` strategy (best fit decreasing, arXiv 2404.10830) on the histogram, whose upper edges
    stand for the rows of a bin, shrunk together so that their mean is the rows' own.
    """
    total = sum(count for _, count in lengths.histogram)
    if not total or not rows:
        return rows, lengths
    edges = sum(edge * count for edge, count in lengths.histogram) / total
    shrink = min(1.0, lengths.mean / max(1.0, edges))
    shrunk = tuple((round(edge * shrink), count) for edge, count in lengths.histogram)
    bins = count_bins(shrunk, max_length)
    packed = max(1, round(rows * bins / total))
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


def count_bins(histogram: tuple[tuple[int, int], ...], max_length: int) -> int:
    """Return the rows of `max_length` that best fit decreasing needs for (tokens, rows) pairs.

    Rows of equal length are placed together: into the fullest bins that take them, as many as each
    takes, then into new ones. What is longer than a bin fills one.
    """
    bins, room = 0, dict[int, int]()  # room that is left -> how many bins have it
    for tokens, rows in sorted(histogram, reverse=True):
        size, waiting = max(1, min(tokens, max_length)), rows
        for left in sorted(room):
            if left < size or not waiting:
                continue
            each = left // size
            used = min(room[left], -(-waiting // each))
            whole = min(used, waiting // each)
            room[left] -= used
            _add(room, left - each * size, whole)
            if used > whole:
                _add(room, left - (waiting - each * whole) * size, 1)
            waiting -= min(waiting, each * used)
        each = max_length // size
        bins += -(-waiting // each)
        _add(room, max_length - each * size, waiting // each)
        if waiting % each:
            _add(room, max_length - waiting % each * size, 1)
    return bins


def _add(room: dict[int, int], left: int, count: int) -> None:
    if left and count:
        room[left] = room.get(left, 0) + count
