"""The assistant full screen: a conversation on the left, what follows from it on the right."""

from typing import ClassVar

from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, Header, Input, LoadingIndicator
from textual.worker import get_current_worker

from ftc.tui.actions import ACTIONS
from ftc.tui.dialogue import Question
from ftc.tui.line import Line
from ftc.tui.session import Session
from ftc.tui.shelf import Kept, keep
from ftc.tui.view import make_view
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
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(action.key, f"do('{action.name}')", action.name, id=action.name, priority=True)
        for action in ACTIONS
        if action.name != "leave"
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def compose(self) -> ComposeResult:
        """Lay out the two sides."""
        yield Header()
        with Horizontal():
            with Vertical(id="talk"):
                yield Transcript(id="transcript")
                yield LoadingIndicator(id="busy")
                yield Offers(id="offers")
                yield Input(placeholder=self.session.voice.say("input"), id="message")
            yield Side(id="side")
        yield Footer()

    def on_mount(self) -> None:
        """Begin the conversation."""
        self._idle()
        self.query_one("#message", Input).focus()
        self._work(None)

    @on(Input.Submitted, "#message")
    def _sent(self, event: Input.Submitted) -> None:
        event.input.clear()
        self._send(event.value)

    @on(Offers.Chosen)
    def _chosen(self, event: Offers.Chosen) -> None:
        self._send(str(event.index + 1))

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
        self.session = session
        self._idle()
        self.query_one(Transcript).add(lines)
        self.query_one(Side).show(make_view(session))
        step = session.step
        suggested = step.suggested if isinstance(step, Question) else None
        answers = tuple((each.label, session.consequence(each)) for each in session.options)
        self.query_one(Offers).offer(answers, suggested)
        folder = session.observer.folder
        keep(folder, Kept(draft=session.draft, transcript=tuple(session.transcript)))
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
        elif name == "cancel":
            self.workers.cancel_group(self, "reply")
            self._idle()
        elif name == "next_pane":
            self.screen.focus_next()
        elif name == "help":
            self._send("help")
