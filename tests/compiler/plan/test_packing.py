"""Packed rows, counted from a histogram of lengths."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.packing import count_bins, pack_lengths
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
HISTOGRAM = st.lists(
    st.tuples(st.integers(1, 64), st.integers(1, 40)), max_size=12, unique_by=lambda pair: pair[0]
)


def one_by_one(histogram: list[tuple[int, int]], length: int) -> int:
    """Pack row by row: each into the fullest bin that takes it."""
    bins: list[int] = []
    for tokens, rows in sorted(histogram, reverse=True):
        for _ in range(rows):
            size = min(tokens, length)
            fitting = [place for place, room in enumerate(bins) if room >= size]
            if fitting:
                bins[min(fitting, key=lambda place: bins[place])] -= size
            else:
                bins.append(length - size)
    return len(bins)


@given(HISTOGRAM, st.integers(1, 64))
def test_as_many_bins_as_packing_row_by_row(histogram: list[tuple[int, int]], length: int) -> None:
    """Best fit decreasing, whether rows are placed one by one or all of a length at once."""
    assert count_bins(tuple(histogram), length) == one_by_one(histogram, length)


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
