"""The assistant full screen: a conversation on the left, what follows from it on the right."""

from collections.abc import Iterable
from functools import partial

from textual import on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer, Header, Input, LoadingIndicator, Tab, Tabs
from textual.worker import get_current_worker

from ftc.tui.actions import ACTIONS, Action
from ftc.tui.dialogue import Question
from ftc.tui.language_model import ModelReader
from ftc.tui.line import Line
from ftc.tui.session import Session
from ftc.tui.shelf import Kept, keep
from ftc.tui.view import make_view
from ftc.tui.widgets.bundle import BundleScreen
from ftc.tui.widgets.help import HelpScreen
from ftc.tui.widgets.offers import Offers
from ftc.tui.widgets.side import Side
from ftc.tui.widgets.transcript import Transcript


class Assistant(App[None]):
    """Shows a session; whatever may take long happens in a worker, on a copy of it."""

    CSS_PATH = "app.tcss"
    TITLE = "ftc"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of the base class
        (0, "-narrow"),
        (100, "-wide"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        say = session.voice.say
        for action in ACTIONS:
            self.bind(
                action.key,
                f"do('{action.name}')",
                description=say(action.label),
                show=action.in_footer,
            )

    def compose(self) -> ComposeResult:
        """Lay out the two sides; where there is no room for both, a tab for each."""
        say = self.session.voice.say
        yield Header()
        yield Tabs(Tab(say("tab.talk"), id="tab-talk"), Tab(say("tab.side"), id="tab-side"))
        with Horizontal():
            with Vertical(id="talk"):
                yield Transcript(id="transcript")
                yield LoadingIndicator(id="busy")
                yield Offers(id="offers")
                yield Input(placeholder=say("input"), id="message")
            yield Side(id="side")
        yield Footer()

    def on_mount(self) -> None:
        """Begin the conversation."""
        self._idle()
        self._work(None)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer every action of the table in the palette, beside Textual's own."""
        yield from super().get_system_commands(screen)
        say = self.session.voice.say
        for action in ACTIONS:
            yield SystemCommand(
                say(action.label), say(action.help), partial(self.action_do, action.name)
            )

    @on(Input.Submitted, "#message")
    def _sent(self, event: Input.Submitted) -> None:
        event.input.clear()
        self._send(event.value)

    @on(Offers.Chosen)
    def _chosen(self, event: Offers.Chosen) -> None:
        self._send(str(event.index + 1))

    @on(Tabs.TabActivated)
    def _switched(self, event: Tabs.TabActivated) -> None:
        aside = event.tab.id == "tab-side"
        self.screen.set_class(aside, "-side")
        if aside:
            self.query_one(Side).focus()
        else:
            self.query_one("#message", Input).focus()

    def _send(self, text: str) -> None:
        self.query_one(Transcript).add((Line(who="you", text=text),))
        self._work(text)

    @work(thread=True, exclusive=True, exit_on_error=False, group="reply")
    def _work(self, text: str | None) -> None:
        """Reply on a copy of the session; a cancelled reply leaves the session as it was."""
        worker = get_current_worker()
        self.call_from_thread(self._busy)
        session = self.session.fork()
        lines = session.start() if text is None else session.reply(text)
        if not worker.is_cancelled:
            self.call_from_thread(self._show, session, lines)

    def _show(self, session: Session, lines: tuple[Line, ...]) -> None:
        finished = session.finished is not self.session.finished
        self.session = session
        self._idle()
        self.query_one(Transcript).add(lines)
        self.query_one(Side).show(make_view(session))
        step = session.step
        suggested = step.suggested if isinstance(step, Question) else None
        answers = tuple(
            (session.label(each), session.consequence(each)) for each in session.options
        )
        self.query_one(Offers).offer(answers, suggested)
        folder = session.observer.folder
        keep(folder, Kept(draft=session.draft, transcript=tuple(session.transcript)))
        if finished and session.finished is not None and session.finished.bundle is not None:
            self.push_screen(BundleScreen(session.finished, session.voice))
        if session.ended:
            self.exit()

    def _busy(self) -> None:
        self.query_one("#busy").display = True

    def _idle(self) -> None:
        self.query_one("#busy").display = False
        self.query_one("#message", Input).focus()

    def action_do(self, name: str) -> None:
        """Do one action of the table."""
        action = next(each for each in ACTIONS if each.name == name)
        if action.says is not None:
            self._send(action.says)
        else:
            self._do_here(action)

    def _do_here(self, action: Action) -> None:
        """Do what only the screen does."""
        match action.name:
            case "cancel":
                self._cancel()
            case "next_pane":
                self._turn()
            case "help":
                self.push_screen(HelpScreen(self.session.voice))
            case "leave":
                self.exit()

    def _cancel(self) -> None:
        """Stop waiting for a reply; the session stays as it was."""
        for reader in self.session.understanders:
            if isinstance(reader, ModelReader):
                reader.stop.set()
        if self.workers.cancel_group(self, "reply"):
            self.query_one(Transcript).add((self.session.line("cancelled"),))
        self._idle()

    def _turn(self) -> None:
        """Go to the other pane: the other tab where only one has room."""
        if self.screen.has_class("-narrow"):
            tabs = self.query_one(Tabs)
            tabs.active = "tab-side" if tabs.active == "tab-talk" else "tab-talk"
        else:
            self.screen.focus_next()
