"""The memory of the plan: a divided bar per phase, the limit of the device, and the totals."""

from collections.abc import Iterator
from typing import Final

from rich.text import Text
from textual.app import RenderResult
from textual.widget import Widget

from ftc.tui.languages.voice import Voice
from ftc.tui.session.gauge import LIMIT, MARKS, Bar, Gauge, draw
from ftc.tui.session.view import View

#: A terminal colour for each part; the mark alone identifies it too.
_COLOURS: Final = {
    "weights": "blue",
    "optimizer": "magenta",
    "gradients": "green",
    "activations": "yellow",
    "loss": "cyan",
    "copies": "bright_blue",
    "gathered": "bright_magenta",
    "cache": "bright_cyan",
    "margin": "bright_black",
    "context": "bright_black",
    "limit": "bold",
    "free": "dim",
}
_LEAST_COLUMNS: Final = 12
_GAP: Final = "  "
_OVER: Final = "\u2717"
#: From this screen height on, every phase has a bar.
_TALL: Final = 30


class MemoryBars(Widget):
    """Bars with their legend; on a low screen, only the phase with the largest peak."""

    def __init__(self, voice: Voice) -> None:
        super().__init__(id="memory")
        self.voice = voice
        self.gauge: Gauge | None = None
        self.told = ""

    def show(self, view: View) -> None:
        """Show the plan's memory."""
        self.gauge, self.told = view.gauge, view.memory
        self.border_title = view.titles["memory"]
        self.refresh(layout=True)

    def on_resize(self) -> None:
        """Lay out again, since the lines of the legend depend on the width."""
        self.refresh(layout=True)

    def render(self) -> RenderResult:
        """Return the bars, the legend and the totals."""
        if self.gauge is None:
            return Text(self.told)
        bars = [*self._bars(self.gauge)]
        drawn = "".join(str(bar) for bar in bars)
        legend = self._legend(self.gauge, drawn)
        return Text("\n").join([*bars, legend, Text(self.told)])

    def _bars(self, gauge: Gauge) -> Iterator[Text]:
        tall = self.app.size.height >= _TALL
        shown = gauge.bars if tall else (gauge.largest,)
        names = [self._told_phase(bar) for bar in shown]
        sizes = [self.voice.size(bar.total_bytes) for bar in shown]
        width, margin = max(map(len, names)), max(map(len, sizes))
        columns = max(_LEAST_COLUMNS, self.content_size.width - width - margin - 2)
        for name, size, bar in zip(names, sizes, shown, strict=True):
            drawn = ((cells, _COLOURS[part]) for part, cells in draw(gauge, bar, columns))
            style = "bold" if bar.is_largest else ""
            is_over = gauge.capacity_bytes is not None and bar.total_bytes > gauge.capacity_bytes
            mark = (_OVER, "bold red") if is_over else " "
            yield Text.assemble(
                (name.ljust(width), style), " ", *drawn, mark, (size.rjust(margin), style)
            )

    def _told_phase(self, bar: Bar) -> str:
        return self.voice.say(f"phase.{bar.phase}")

    def _legend(self, gauge: Gauge, drawn: str) -> Text:
        """Return the parts as rows, with mark, name and size: those of the largest phase first.

        A part of another phase is listed, with its largest size, if its mark is drawn.
        """
        sizes = dict(gauge.largest.parts)
        for bar in gauge.bars:
            for part, size in bar.parts:
                if part not in dict(gauge.largest.parts):
                    sizes[part] = max(size, sizes.get(part, 0))
        parts = [
            (MARKS[part], f"{self.voice.say(f'mark.{part}')} {self.voice.size(size)}", part)
            for part, size in sizes.items()
            if MARKS[part] in drawn
        ]
        if gauge.capacity_bytes is not None:
            limit = self.voice.size(gauge.capacity_bytes)
            parts.append((LIMIT, f"{self.voice.say('mark.limit')} {limit}", "limit"))
        legend, filled = Text(), 0
        for mark, words, part in parts:
            length = len(mark) + 1 + len(words)
            fits = filled + len(_GAP) + length <= self.content_size.width
            start = "" if not filled else _GAP if fits else "\n"
            filled = filled + len(_GAP) + length if start == _GAP else length
            legend.append_text(Text.assemble(start, (mark, _COLOURS[part]), f" {words}"))
        return legend
