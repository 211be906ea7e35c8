"""The part of a curve that is shown, and its smoothing."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.tui.watch.smoothing import STRENGTHS, smooth
from ftc.tui.watch.zoom import ALL, LAST_HALF, LAST_N, Zoom, cut

STEPS = st.integers(0, 10**7)


def test_the_keys_show_what_they_say() -> None:
    """All, the last half, the last hundred; the end goes on with the run."""
    assert ALL.span(1, 1000) == (1, 1000)
    assert LAST_HALF.span(0, 1000) == (500, 1000)
    assert LAST_HALF.span(0, 2000) == (1000, 2000)
    assert LAST_N.span(0, 1000) == (900, 1000)
    assert LAST_N.span(0, 40) == (0, 40)
    assert cut(((1, 1.0), (5, 2.0), (9, 3.0)), 5, 9) == ((5, 2.0), (9, 3.0))


def test_a_part_moves_by_a_quarter_and_stays_inside() -> None:
    """Back to the first step, and forth to the last."""
    zoom = LAST_N.moved(-1, 0, 1000)
    assert zoom.span(0, 1000) == (875, 975)
    assert zoom.moved(1, 0, 1000) == LAST_N
    for _ in range(100):
        zoom = zoom.moved(-1, 0, 1000)
    assert zoom.span(0, 1000) == (0, 100)


@given(
    ends=st.tuples(STEPS, STEPS).map(sorted),
    moves=st.lists(st.sampled_from(["nearer", "farther", "left", "right"]), max_size=12),
    zoom=st.sampled_from([ALL, LAST_HALF, LAST_N]),
)
def test_a_part_is_always_a_part(ends: list[int], moves: list[str], zoom: Zoom) -> None:
    """Whatever is pressed, on a curve of any length."""
    first, last = ends
    for move in moves:
        if move in ("left", "right"):
            zoom = zoom.moved(-1 if move == "left" else 1, first, last)
        else:
            zoom = getattr(zoom, move)(first, last)
        low, high = zoom.span(first, last)
        assert first <= low <= high <= last
        assert high > low or first == last


def test_an_average_is_that_of_the_formula() -> None:
    """The first point stays; a constant stays; strength 0 changes nothing."""
    curve = ((1, 4.0), (2, 0.0), (3, 2.0))
    assert smooth(curve, 0.0) == curve
    values = [value for _, value in smooth(curve, 0.5)]
    assert values == pytest.approx([4.0, (0.25 * 4) / 0.75, (0.125 * 4 + 0.5 * 2) / 0.875])
    for strength in STRENGTHS:
        assert [v for _, v in smooth(tuple((n, 7.0) for n in range(50)), strength)] == (
            pytest.approx([7.0] * 50)
        )
    noisy = tuple((n, float(n % 2)) for n in range(400))
    swings = [
        max(abs(a[1] - b[1]) for a, b in pairwise(smooth(noisy, strength)[200:]))
        for strength in STRENGTHS
    ]
    assert swings == sorted(swings, reverse=True)
