"""Curves as characters: inside their frame for any values and any size."""

import time

from hypothesis import given
from hypothesis import strategies as st

from ftc.tui.watch.chart import draw

VALUES = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9)
CURVES = st.dictionaries(st.integers(0, 10**6), VALUES, max_size=30).map(
    lambda points: tuple(sorted(points.items()))
)


@given(line=CURVES, points=CURVES, columns=st.integers(0, 90), rows=st.integers(0, 30))
def test_a_chart_keeps_to_its_room(
    line: tuple[tuple[int, float], ...],
    points: tuple[tuple[int, float], ...],
    columns: int,
    rows: int,
) -> None:
    """Never wider or higher than asked, with ASCII alone where nothing else is to be had."""
    for plain in (False, True):
        chart = draw(line, points, columns=columns, rows=rows, plain=plain)
        if chart is None:
            assert columns < 19 or rows < 2 or not (line or points)
            continue
        assert len(chart.rows) == rows
        assert all(len(row) == columns - 11 for row in chart.rows)
        assert not plain or all(drawn.isascii() for drawn in chart.lines)


def test_a_falling_loss_falls() -> None:
    """From the upper left to the lower right; a point of validation stands where it was."""
    line = tuple((step, 10.0 - step) for step in range(11))
    chart = draw(line, ((5, 5.0),), columns=22, rows=11, plain=True)

    assert chart is not None
    assert [row.find("*") for row in chart.rows] == [0, 1, 2, 3, 4, -1, 6, 7, 8, 9, 10]
    assert chart.rows[5][5] == "o"
    assert (chart.labels[0], chart.labels[5], chart.labels[10]) == ("10", "5", "0")
    assert chart.foot.split() == ["step", "0", "10"]


def test_a_loss_that_falls_by_decades_is_drawn_by_its_logarithm() -> None:
    """A straight line for a steady share a step, where it would lie flat at the foot."""
    line = tuple((step, 10.0 * 0.5**step) for step in range(11))
    chart = draw(line, (), columns=22, rows=11, plain=True)

    assert chart is not None
    assert chart.logarithmic
    assert [row.find("*") for row in chart.rows] == list(range(11))
    assert (chart.labels[0], chart.labels[5], chart.labels[10]) == ("10", "0.3125", "0.009766")


def test_what_reaches_zero_is_drawn_as_it_is() -> None:
    """Zero has no logarithm; nor has a reward that is below it."""
    for last in (0.0, -3.0):
        chart = draw(((0, 10.0), (1, 1.0), (2, last)), (), columns=22, rows=11, plain=True)
        assert chart is not None
        assert not chart.logarithmic


def test_ten_thousand_points_are_drawn_at_once() -> None:
    """In far less than the second between two readings."""
    line = tuple((step, 1 / (step + 1)) for step in range(10_000))
    began = time.process_time()
    assert draw(line, (), columns=200, rows=50, plain=False) is not None

    assert time.process_time() - began < 0.5
