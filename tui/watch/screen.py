"""The screen of runs: progress, curve, numbers beside the plan's, and output."""

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, zip_longest
from typing import Final

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option as Row

from ftc.spec.findings.finding import EnvironmentFailure, Severity
from ftc.tui.languages.voice import Voice
from ftc.tui.terminal.background import run_in_background
from ftc.tui.watch.alerts import Alert, find_alerts
from ftc.tui.watch.curve import CurvePane
from ftc.tui.watch.run import Run, Watched
from ftc.tui.watch.stages import Status
from ftc.tui.watch.words import (
    ENGLISH,
    MARKS,
    Fact,
    find_facts,
    headline,
    say,
    say_advice,
    say_progress,
    say_stage,
    say_state,
)
from ftc.tui.watch.zoom import ALL, LAST_HALF, LAST_N, LAST_STEPS

_EVERY_SECONDS: Final = 1.0
_COLOURS: Final[dict[Status, str]] = {
    "waiting": "$foreground",
    "running": "$text-primary",
    "done": "$text-success",
    "stopped": "$text-warning",
    "failed": "$text-error",
    "gone": "$text-error",
}
_SEVERITIES: Final[dict[Severity, tuple[str, str]]] = {
    "error": ("✗", "$text-error"),
    "warning": ("▲", "$text-warning"),
    "info": ("·", "$foreground"),
}
#: The separator of two facts in a line.
_GAP: Final = " \u00b7 "
#: Keys, their actions, their catalogue keys, and whether the footer shows them.
_KEYS: Final = (
    ("q,ctrl+c,escape", "leave", "leave", True),
    ("s", "smooth", "smoothing", True),
    ("a", "zoom_all", "all", True),
    ("h", "zoom_half", "half", True),
    ("n", "zoom_last", "last", True),
    ("plus,equals_sign", "nearer(True)", "nearer", True),
    ("minus", "nearer(False)", "farther", False),
    ("left", "move(-1)", "earlier", False),
    ("right", "move(1)", "later", False),
    ("o", "output", "output", True),
)


class WatchScreen(ModalScreen[None]):
    """Reads the files of the runs once a second in the background; closing it affects no run."""

    CSS_PATH = "watch.tcss"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of the base class
        (0, "-narrow"),
        (100, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-short"),
        (30, "-tall"),
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
        self.watched = watched
        self.clock = clock
        self.runs = tuple(runs)
        self.shown = 0
        for keys, action, word, in_footer in _KEYS:
            told = say(voice, word, steps=LAST_STEPS) if word == "last" else say(voice, word)
            for key in keys.split(","):
                first = keys.startswith(key)
                self._bindings.bind(
                    key, action, told, show=in_footer and first, priority=action == "leave"
                )

    def compose(self) -> ComposeResult:
        """Lay out a list if there are several runs, and one run below it."""
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
            yield Static("", id="output", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Show the data that was read before the screen opened."""
        self.query_one("#output", Static).border_title = say(self.voice, "output")
        for runs in self.query("#runs").results(OptionList):
            runs.focus()
            runs.highlighted = 0
        self.show_run()
        self.set_interval(_EVERY_SECONDS, self._look)

    @on(OptionList.OptionHighlighted, "#runs")
    def _chosen(self, event: OptionList.OptionHighlighted) -> None:
        self.shown = event.option_index
        self.show_run()

    @work(exclusive=True, exit_on_error=False, group="look")
    async def _look(self) -> None:
        """Read new data on a thread, since a network disk may be slow."""
        try:
            runs = await run_in_background(partial(_look_at, self.watched, self.clock))
        except EnvironmentFailure as failure:
            told = f"{failure.message}: {failure.help}"
            self._warn(Alert(severity="error", text=told))
            return
        if not self.is_running:
            return
        self.runs = runs
        for listed in self.query("#runs").results(OptionList):
            for index, run in enumerate(runs):
                listed.replace_option_prompt_at_index(index, headline(run, self.voice))
        self.show_run()

    def show_run(self) -> None:
        """Write one run on the screen."""
        run = self.runs[self.shown]
        self.set_class(run.state in ("failed", "gone"), "-ended-badly")
        state = self.query_one("#state", Static)
        state.update(Content(f"{run.name}: {say_state(run, self.voice)}"))
        state.set_classes(run.state)
        self.query_one("#stages", Static).update(_stages(run, self.voice))
        progress = self.query_one("#progress", Static)
        progress.update(Content(say_progress(run, progress.size.width)))
        told, wide = find_facts(run, self.voice), self.has_class("-wide")
        flows = not wide and self.has_class("-short")
        columns = self.size.width - 2
        facts = _flow(told, columns) if flows else _lay_out(told, columns, wide=wide)
        self.query_one("#facts", Static).update(facts)
        self.query_one(CurvePane).show(run)
        self._warn(*find_alerts(run, self.voice), advice=say_advice(run, self.voice))
        self._show_output(run)

    def _show_output(self, run: Run) -> None:
        """Show as many of the last lines as fit."""
        output = self.query_one("#output", Static)
        is_large = self.has_class("-output")
        output.display = bool(run.output) or is_large
        room = output.size.height if is_large else self._output_lines
        lines = run.output[-max(1, room) :] or (say(self.voice, "no_output"),)
        output.update(Content("\n".join(lines)))

    @property
    def _output_lines(self) -> int:
        """The lines beside a curve; more of them if they show why a run ended."""
        many = self.has_class("-tall") or self.has_class("-ended-badly")
        return 6 if many else 2

    def _warn(self, *alerts: Alert, advice: str = "") -> None:
        """Show alerts and what to do, each with a mark."""
        shown = self.query_one("#alerts", Static)
        lines = [
            Content.assemble((mark, colour), f" {alert.text}")
            for alert in alerts
            for mark, colour in [_SEVERITIES[alert.severity]]
        ]
        if advice:
            lines.append(Content.assemble(("→", "$text-accent"), f" {advice}"))
        shown.update(Content("\n").join(lines))
        shown.display = bool(lines)

    def on_resize(self) -> None:
        """Lay out the numbers again; beside the curve they take more lines."""
        self.call_after_refresh(self.show_run)

    def action_leave(self) -> None:
        """Return to the screen that opened this one."""
        self.dismiss()

    def action_smooth(self) -> None:
        """Smooth the curve more, or not at all."""
        self.query_one(CurvePane).cycle_smoothing()

    def action_zoom_all(self) -> None:
        """Show all steps."""
        self.query_one(CurvePane).zoom(ALL)

    def action_zoom_half(self) -> None:
        """Show the last half of the steps."""
        self.query_one(CurvePane).zoom(LAST_HALF)

    def action_zoom_last(self) -> None:
        """Show a fixed number of last steps."""
        self.query_one(CurvePane).zoom(LAST_N)

    def action_nearer(self, nearer: bool) -> None:
        """Show half of the shown steps, or twice as many."""
        self.query_one(CurvePane).step_nearer(nearer=nearer)

    def action_move(self, quarters: int) -> None:
        """Show earlier or later steps."""
        self.query_one(CurvePane).move(quarters)

    def action_output(self) -> None:
        """Show the output in place of the curve, or the curve again."""
        self.toggle_class("-output")
        self.call_after_refresh(self.show_run)


def _stages(run: Run, voice: Voice) -> Content:
    """Return all stages in one line, with coloured marks."""
    return Content("  ").join(
        Content.assemble(
            (MARKS[stage.status], _COLOURS[stage.status]), f" {say_stage(stage, voice)}"
        )
        for stage in run.stages
    )


def _lay_out(facts: Sequence[Fact], columns: int, *, wide: bool) -> Table:
    """Return names and values in a table; beside the curve a value has a line for each part.

    Below the curve, where there are few lines, two facts share a line if they fit.
    """
    table = Table.grid(padding=(0, 2, 0, 0))
    if wide:
        for fact in facts:
            value = re.sub(r"[:,] (?=[a-z0-9])", "\n", fact.value)
            parts = [value, fact.planned] if fact.planned else [value]
            table.add_row(Text(fact.name), Text("\n".join(parts)))
        return table
    half = (len(facts) + 1) // 2
    needed = sum(_width(part) for part in (facts[:half], facts[half:]))
    rows = half if needed <= columns else len(facts)
    for pair in zip_longest(facts[:rows], facts[rows:]):
        cells = ((Text(fact.name), Text(fact.text)) for fact in pair if fact is not None)
        table.add_row(*chain.from_iterable(cells))
    return table


def _flow(facts: Sequence[Fact], columns: int) -> Table | Content:
    """Return facts for a low screen: two columns if they fit, else as many per line as fit.

    Facts share lines, because one per line leaves no room for the curve; none is split.
    """
    half = (len(facts) + 1) // 2
    if sum(_width(part) for part in (facts[:half], facts[half:])) <= columns:
        return _lay_out(facts, columns, wide=False)
    lines: list[list[Fact]] = []
    room = 0
    for fact in facts:
        needed = cell_len(f"{fact.name} {fact.text}{_GAP}")
        if needed > room + len(_GAP):
            lines.append([])
            room = columns
        lines[-1].append(fact)
        room -= needed
    return Content("\n").join(
        Content(_GAP).join(
            Content.assemble(f"{fact.name}\u00a0", (fact.text.replace(" ", "\u00a0"), "bold"))
            for fact in line
        )
        for line in lines
    )


def _width(facts: Sequence[Fact]) -> int:
    """Return the width of names and values, each with a gap."""
    names = max((cell_len(fact.name) for fact in facts), default=0)
    return names + max((cell_len(fact.text) for fact in facts), default=0) + 4


def _look_at(watched: Sequence[Watched], clock: Callable[[], float]) -> tuple[Run, ...]:
    return tuple(each.look(clock()) for each in watched)
