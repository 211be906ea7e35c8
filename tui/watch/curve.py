"""The loss over the steps, as large as there is room for."""

from rich.text import Text
from textual.widget import Widget

from ftc.tui.voice import Voice
from ftc.tui.watch.chart import MARGIN, Chart, draw
from ftc.tui.watch.run import Run
from ftc.tui.watch.training import Curve
from ftc.tui.watch.words import ENGLISH, say


class CurvePane(Widget):
    """Training as a line and validation as points; drawn anew when the room or the run changes."""

    DEFAULT_CSS = "CurvePane { height: 1fr; }"

    def __init__(self, *, id: str, voice: Voice = ENGLISH) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._voice = voice
        self._line: Curve = ()
        self._points: Curve = ()

    def show(self, run: Run) -> None:
        """Take a run's curves; the same ones are not drawn again."""
        curves = run.training.curves
        name = "reward" if "reward" in curves else "loss"
        line, points = curves.get(name, ()), curves.get(f"eval_{name}", ())
        told = say(self._voice, name)
        self.border_title = say(self._voice, "curve_title", name=told) if points else told
        if (line, points) != (self._line, self._points):
            self._line, self._points = line, points
            self.refresh()

    def render(self) -> Text:
        """Draw the curves into the room that there is."""
        chart = draw(
            self._line,
            self._points,
            columns=self.content_size.width,
            rows=self.content_size.height - 1,
            plain=False,
            word=say(self._voice, "step"),
        )
        logarithmic = chart is not None and chart.logarithmic
        self.border_subtitle = say(self._voice, "by_logarithm") if logarithmic else ""
        if chart is None:
            return Text("" if self._line else say(self._voice, "no_loss"))
        return _paint(chart)


def _paint(chart: Chart) -> Text:
    """Return the chart, with the points of validation in bold."""
    text, start = Text("\n".join(chart.lines), no_wrap=True), MARGIN
    for row, line in enumerate(chart.lines):
        for at, column in chart.marked:
            if at == row:
                text.stylize("bold", start + column, start + column + 1)
        start += len(line) + 1
    return text
