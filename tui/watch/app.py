"""Runs full screen: where each is, its curve, its numbers beside the plan's."""

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Final

from rich.table import Table
from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option as Row

from ftc.spec.finding import EnvironmentFailure
from ftc.tui.background import run_in_background
from ftc.tui.saved_state import find_theme
from ftc.tui.voice import Voice
from ftc.tui.watch.alerts import find_alerts
from ftc.tui.watch.curve import CurvePane
from ftc.tui.watch.run import Run, Watched
from ftc.tui.watch.words import (
    ENGLISH,
    Fact,
    find_facts,
    headline,
    say,
    say_progress,
    say_stages,
    say_state,
)

_EVERY_SECONDS: Final = 1.0


class Watch(App[None]):
    """Reads the files of the runs once a second, in the background; quitting touches no run."""

    CSS_PATH = "watch.tcss"
    TITLE = "ftc watch"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of the base class
        (0, "-narrow"),
        (100, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c,escape", "quit", "leave; the run goes on", key_display="q", priority=True)
    ]

    def __init__(
        self,
        watched: Sequence[Watched],
        runs: Sequence[Run],
        clock: Callable[[], float] = time.time,
        voice: Voice = ENGLISH,
    ) -> None:
        super().__init__()
        self.voice = voice
        leaving = say(voice, "leave")
        self.bind("q,ctrl+c,escape", "quit", description=leaving, key_display="q")
        self.watched = watched
        self.clock = clock
        self.runs = tuple(runs)
        self.shown = 0

    def compose(self) -> ComposeResult:
        """Lay out a list where there are several runs, and one run below it."""
        if len(self.watched) > 1:
            yield OptionList(
                *(Row(headline(run, self.voice)) for run in self.runs), id="runs", markup=False
            )
        with Vertical(id="run"):
            yield Static("", id="state", markup=False)
            yield Static("", id="stages", markup=False)
            yield Static("", id="progress", markup=False)
            with Horizontal(id="numbers"):
                yield CurvePane(id="curve", voice=self.voice)
                yield Static("", id="facts", markup=False)
            yield Static("", id="alerts", markup=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Show what was read before the screen opened, in the colours of last time."""
        theme = find_theme()
        if theme in self.available_themes:
            self.theme = theme
        for runs in self.query("#runs").results(OptionList):
            runs.focus()
            runs.highlighted = 0
        self._show()
        self.set_interval(_EVERY_SECONDS, self._look)

    @on(OptionList.OptionHighlighted, "#runs")
    def _chosen(self, event: OptionList.OptionHighlighted) -> None:
        self.shown = event.option_index
        self._show()

    @work(exclusive=True, exit_on_error=False, group="look")
    async def _look(self) -> None:
        """Read what is new, on a thread: a disk far away may take its time."""
        try:
            runs = await run_in_background(partial(_look_at, self.watched, self.clock))
        except EnvironmentFailure as failure:
            self._warn(f"{failure.message}: {failure.help}")
            return
        if not self.is_running:
            return
        self.runs = runs
        for listed in self.query("#runs").results(OptionList):
            for index, run in enumerate(runs):
                listed.replace_option_prompt_at_index(index, headline(run, self.voice))
        self._show()

    def _show(self) -> None:
        """Write one run on the screen."""
        run = self.runs[self.shown]
        state = self.query_one("#state", Static)
        state.update(Text(f"{run.name}: {say_state(run, self.voice)}"))
        state.set_classes(run.state)
        self.query_one("#stages", Static).update(
            Text(say_stages(run, plain=False, voice=self.voice))
        )
        progress = self.query_one("#progress", Static)
        progress.update(Text(say_progress(run, progress.size.width)))
        facts = _lay_out(find_facts(run, self.voice), wide=self.screen.has_class("-wide"))
        self.query_one("#facts", Static).update(facts)
        self.query_one(CurvePane).show(run)
        self._warn(*find_alerts(run, self.voice))

    def _warn(self, *sentences: str) -> None:
        alerts = self.query_one("#alerts", Static)
        alerts.update(Text("\n".join(sentences)))
        alerts.display = bool(sentences)

    def on_resize(self) -> None:
        """Lay the numbers out anew: beside the curve they take more lines."""
        self.call_after_refresh(self._show)


def _lay_out(facts: Sequence[Fact], *, wide: bool) -> Table:
    """Return names and values in columns; beside the curve a value has a line for each part."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for fact in facts:
        value = re.sub(r"[:,] (?=[a-z])", "\n", fact.value)
        parts = [value, fact.planned] if fact.planned else [value]
        table.add_row(Text(fact.name), Text("\n".join(parts) if wide else fact.text))
    return table


def _look_at(watched: Sequence[Watched], clock: Callable[[], float]) -> tuple[Run, ...]:
    return tuple(each.look(clock()) for each in watched)
