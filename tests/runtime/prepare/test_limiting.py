"""Rows beyond the limit of the spec: drawn by the seed, of all rows or of each source."""

from array import array
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ftc.runtime.prepare.limiting import limit, limit_sources
from ftc.runtime.prepare.preparing import Rows


def make_rows(wanted: list[bool], origins: list[int], most: list[int | None]) -> Rows:
    """Return rows of sources, some of which were left out before."""
    sources: Any = [SimpleNamespace(max_rows=each) for each in most]
    return Rows(
        sources=sources,
        counts=np.bincount(origins, minlength=len(most)).tolist(),
        origins=np.array(origins, dtype="uint8"),
        keys=np.arange(len(wanted), dtype="uint64") + 1,
        wanted=np.array(wanted, dtype=bool),
        changes=defaultdict(lambda: array("Q")),
    )


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 2)), max_size=40),
    st.lists(st.none() | st.integers(0, 20), min_size=3, max_size=3),
    st.integers(0, 20),
)
def test_no_more_rows_than_the_limits_are_left(
    rows: list[tuple[bool, int]], most: list[int | None], whole: int
) -> None:
    """Of what was wanted before, exactly as many as may be; what is left out has its number."""
    wanted, origins = [each for each, _ in rows], [source for _, source in rows]
    found = make_rows(wanted, origins, most)
    limit_sources(found, 7)
    for source, limit_rows in enumerate(most):
        before = sum(one and origin == source for one, origin in rows)
        left = int((found.wanted & (found.origins == source)).sum())
        assert left == (before if limit_rows is None else min(before, limit_rows))
    left = int(found.wanted.sum())
    limit(found, whole, 7)

    assert found.wanted.sum() == min(left, whole)
    gone = np.flatnonzero(np.array(wanted, dtype=bool) & ~found.wanted) + 1
    assert sorted(found.changes["beyond max_rows"]) == gone.tolist()


def test_the_seed_draws_the_rows() -> None:
    """The same seed the same rows, another seed others; the rows keep their order."""
    kept = []
    for seed in (1, 1, 2):
        rows = make_rows([True] * 200, [0] * 200, [None])
        limit(rows, 20, seed)
        kept.append(np.flatnonzero(rows.wanted).tolist())

    assert kept[0] == kept[1] != kept[2]
    assert kept[0] != list(range(20))
