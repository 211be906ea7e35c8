"""Packed rows, counted from a histogram of lengths."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.compiler.plan.batch.lengths import pack_lengths, packed_share, spread
from ftc.compiler.plan.batch.sizes import split_lengths
from ftc.compiler.resolve.data.lengths import summarise
from ftc.compiler.resolve.facts import KnownFacts
from ftc.runtime.tokens.packing import fill
from ftc.spec.sections import Spec

ROOT = Path(__file__).resolve().parents[3]
BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
HISTOGRAM = st.lists(
    st.tuples(st.integers(1, 64), st.integers(1, 40)),
    min_size=1,
    max_size=12,
    unique_by=lambda pair: pair[0],
)


def one_by_one(sizes: list[int], length: int) -> list[list[int]]:
    """Pack row by row: each into the fullest bin that takes it."""
    bins: list[list[int]] = []
    for size in sizes:
        fitting = [packed for packed in bins if length - sum(packed) >= size]
        if fitting:
            max(fitting, key=sum).append(size)
        else:
            bins.append([size])
    return bins


@given(st.lists(st.integers(1, 64), max_size=60))
def test_rows_are_packed_by_best_fit(sizes: list[int]) -> None:
    """Every row once, none cut, each where it fits best.

    Of two packed rows that are as full, either may take the next: how full all are stays the same.
    """
    packed = fill(sizes, 64)

    full = sorted(sum(sizes[row] for row in rows) for rows in packed)
    assert full == sorted(map(sum, one_by_one(sizes, 64)))
    assert sorted(row for rows in packed for row in rows) == list(range(len(sizes)))


@given(HISTOGRAM, st.integers(1, 64))
def test_a_share_is_that_of_the_rows(histogram: list[tuple[int, int]], length: int) -> None:
    """Between what the tokens need at least and a packed row for each."""
    total = sum(rows for _, rows in histogram)
    tokens = sum(min(size, length) * rows for size, rows in histogram)
    share = packed_share(tuple(sorted(histogram)), length, rows=1000)
    assert tokens / length <= share * total + 0.5 + total / 1000
    assert share <= 1


def test_short_rows_become_few_full_ones(build_known: BuildKnown) -> None:
    """The tokens stay, the rows do not; what is left is all alike."""
    _, facts = build_known({})
    lengths = facts.data.lengths
    rows, packed = pack_lengths(lengths, 2048, rows=4000)
    assert rows * packed.mean == pytest.approx(4000 * lengths.mean, rel=0.01)
    assert 0.9 < packed.mean / 2048 <= 1
    assert packed.max == packed.p50 == 2048


def test_nothing_to_pack(build_known: BuildKnown) -> None:
    """No histogram, no rows: what came is returned."""
    _, facts = build_known({})
    empty = replace(facts.data.lengths, histogram=())
    assert pack_lengths(empty, 512, rows=10) == (10, empty)
    assert pack_lengths(facts.data.lengths, 512, rows=0) == (0, facts.data.lengths)


@pytest.mark.parametrize("most", [96, 256, 512])
@pytest.mark.parametrize("middle", [60, 250, 900])
def test_lengths_are_spread_over_their_bins(middle: int, most: int) -> None:
    """The mean is that of the rows, and pieces are as many as exact lengths give."""
    draw = random.Random(middle)  # noqa: S311 - lengths of chance
    sizes = [1 + round(draw.lognormvariate(math.log(middle), 0.7)) for _ in range(600)]
    lengths = summarise([(size, 0) for size in sizes], estimate=False)
    found = spread(lengths)

    assert sum(count for _, count in found) == len(sizes)
    mean = sum(size * count for size, count in found) / len(sizes)
    assert mean == pytest.approx(lengths.mean, rel=0.002, abs=0.2)
    share, _ = split_lengths(lengths, most)
    pieces = sum(-(-size // most) for size in sizes)
    assert share * len(sizes) == pytest.approx(pieces, rel=0.01)


def test_lengths_between_the_edges_of_bins_fill_rows_as_they_are() -> None:
    """Edges alone are multiples of 8, which leave no room in a packed row."""
    sizes = [65 + 8 * (n % 3) for n in range(900)]  # 7 of each are 511 tokens at most
    lengths = summarise([(size, 0) for size in sizes], estimate=False)
    exact = len(fill(sizes, 512)) / len(sizes)
    rows, _ = pack_lengths(lengths, 512, rows=len(sizes))
    assert rows == pytest.approx(exact * len(sizes), rel=0.04)


def test_the_last_window_is_packed_by_itself(build_known: BuildKnown) -> None:
    """A thousand rows at a time are packed, and what is left over fills its rows less well."""
    _, facts = build_known({})
    lengths = facts.data.lengths
    thousand, _ = pack_lengths(lengths, 2048, rows=1000)
    few, _ = pack_lengths(lengths, 2048, rows=30)
    both, _ = pack_lengths(lengths, 2048, rows=1030)
    assert both == thousand + few
    assert few / 30 > thousand / 1000
