"""The loss over the steps, as large as the available space."""

from collections.abc import Iterator
from itertools import groupby

from textual.content import Content
from textual.widget import Widget

from ftc.tui.languages.voice import Voice
from ftc.tui.watch.chart import MARGIN, Chart, draw
from ftc.tui.watch.run import Run
from ftc.tui.watch.smoothing import STRENGTHS, smooth
from ftc.tui.watch.training import Curve
from ftc.tui.watch.words import ENGLISH, respell, say
from ftc.tui.watch.zoom import ALL, Zoom, cut

#: Colours of the theme: the smoothed line, its raw points, and the validation points.
_LINE, _RAW, _POINT = "$primary", "$foreground 40%", "bold $text-warning"


class CurvePane(Widget):
    """Training as a line and validation as points; redrawn when the size or the run changes."""

    DEFAULT_CSS = "CurvePane { height: 1fr; }"

    def __init__(self, *, id: str, voice: Voice = ENGLISH) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._voice = voice
        self._line: Curve = ()
        self._points: Curve = ()
        self._strength = STRENGTHS[1]
        self._zoom = ALL
        self._drawn = Content(say(voice, "no_loss"))

    def show(self, run: Run) -> None:
        """Set a run's curves; the same curves are not drawn again."""
        curves = run.training.curves
        name = "reward" if "reward" in curves else "loss"
        line, points = curves.get(name, ()), curves.get(f"eval_{name}", ())
        told = say(self._voice, name)
        self.border_title = say(self._voice, "curve_title", name=told) if points else told
        if (line, points) != (self._line, self._points):
            self._line, self._points = line, points
            self._redraw()

    def cycle_smoothing(self) -> None:
        """Choose the next smoothing strength; after the strongest, turn smoothing off."""
        at = STRENGTHS.index(self._strength)
        self._strength = STRENGTHS[(at + 1) % len(STRENGTHS)]
        self._redraw()

    def zoom(self, zoom: Zoom) -> None:
        """Show another range of steps."""
        self._zoom = zoom
        self._redraw()

    def step_nearer(self, *, nearer: bool) -> None:
        """Show half of the current range, or twice as much."""
        first, last = self._ends
        change = self._zoom.nearer if nearer else self._zoom.farther
        self.zoom(change(first, last))

    def move(self, quarters: int) -> None:
        """Shift the range by a number of quarters of its length."""
        self.zoom(self._zoom.moved(quarters, *self._ends))

    @property
    def _ends(self) -> tuple[int, int]:
        """The first and the last step of the curves."""
        ends = [curve[at][0] for curve in (self._line, self._points) if curve for at in (0, -1)]
        return min(ends, default=0), max(ends, default=0)

    def on_resize(self) -> None:
        """Redraw for the new size."""
        self._redraw()

    def render(self) -> Content:
        """Return the last drawing."""
        return self._drawn

    def _redraw(self) -> None:
        """Draw the curves into the available space."""
        shown = self._zoom.span(*self._ends)
        chart = draw(
            cut(smooth(self._line, self._strength), *shown),
            cut(self._points, *shown),
            columns=self.content_size.width,
            rows=self.content_size.height - 1,
            plain=False,
            word=say(self._voice, "step"),
            raw=cut(self._line, *shown) if self._strength else (),
        )
        self.border_subtitle = ", ".join(self._notes(chart))
        empty = Content("" if self._line else say(self._voice, "no_loss"))
        self._drawn = empty if chart is None else _paint(chart)
        self.refresh()

    def _notes(self, chart: Chart | None) -> Iterator[str]:
        """Yield the notes about how the curve is drawn."""
        if chart is None:
            return
        if chart.logarithmic:
            yield say(self._voice, "by_logarithm")
        if self._strength:
            strength = respell(self._voice, f"{self._strength:g}")
            yield say(self._voice, "smoothed", strength=strength)
        if self._zoom != ALL:
            yield say(self._voice, "moves")


def _paint(chart: Chart) -> Content:
    """Return the chart in colours: the line before its raw points, validation before both."""
    rows = []
    for at, letters in enumerate(chart.rows):
        label = f"{chart.labels[at]:>{MARGIN - 1}} "
        columns = range(len(letters))
        runs = groupby(columns, lambda column, at=at: _colour(chart, at, column))  # type: ignore[misc]
        parts = [("".join(letters[column] for column in run), colour) for colour, run in runs]
        rows.append(Content.assemble(label, *parts))
    return Content("\n").join([*rows, Content(chart.foot)])


def _colour(chart: Chart, row: int, column: int) -> str:
    if (row, column) in chart.marked:
        return _POINT
    return _LINE if (row, column) in chart.traced else _RAW
