"""The full-screen assistant: the conversation on the left, the spec and plan on the right."""

import os
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic
from typing import Final

from textual import on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.command import CommandPalette
from textual.containers import Horizontal, Vertical
from textual.events import Key
from textual.message import Message
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import Footer, Header, Tab, Tabs, TextArea

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.bundle.actions import ACTIONS, Action
from ftc.tui.languages.translation import tell_failure
from ftc.tui.questions.dialogue import Question
from ftc.tui.session.session import Session
from ftc.tui.session.view import make_buttons, make_view
from ftc.tui.state.line import Line
from ftc.tui.state.saved_state import Kept, find_theme, keep, keep_theme
from ftc.tui.terminal.background import run_in_background
from ftc.tui.terminal.history import History
from ftc.tui.widgets.bundle import BundleScreen
from ftc.tui.widgets.busy import Busy
from ftc.tui.widgets.examples import Examples
from ftc.tui.widgets.findings import Findings
from ftc.tui.widgets.help import HelpScreen
from ftc.tui.widgets.message import MessageInput
from ftc.tui.widgets.names import Names
from ftc.tui.widgets.offers import Offers
from ftc.tui.widgets.side import Side
from ftc.tui.widgets.transcript import Transcript

_WAY_OUT: Final = "ctrl+q"
#: Within this time a second Ctrl-C quits.
_AGAIN_SECONDS: Final = 3.0
#: Textual's commands that are not in the table of actions, with their catalogue keys.
_OWN: Final = {"Theme": "palette.theme", "Screenshot": "palette.screenshot"}


Call = Callable[[Session], tuple[Line, ...]]


class Heard(Message):
    """A piece of a language model's reply, with the number of the reply."""

    def __init__(self, reply: int, model: str, piece: str) -> None:
        super().__init__()
        self.reply = reply
        self.model = model
        self.piece = piece


class Assistant(App[None]):
    """Shows a session; slow calls run in the background, on a copy of the session."""

    CSS_PATH = "app.tcss"
    TITLE = "ftc"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of the base class
        (0, "-narrow"),
        (100, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-short"),
        (30, "-tall"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.waiting: list[Call] = []
        self.interrupted = float("-inf")
        self.replies = 0
        say = session.voice.say
        # hide Textual's own quit binding from the footer, and give the palette our own name
        del self._bindings.key_to_bindings[_WAY_OUT]
        del self._bindings.key_to_bindings[self.COMMAND_PALETTE_BINDING]
        self._bindings.bind(
            self.COMMAND_PALETTE_BINDING,
            "command_palette",
            say("palette"),
            show=False,
            priority=True,
        )
        for action in ACTIONS:
            self._bindings.bind(
                action.key,
                f"do('{action.name}')",
                say(action.label),
                show=action.in_footer,
                priority=action.key == _WAY_OUT,
            )

    def compose(self) -> ComposeResult:
        """Lay out the two panes, or one tab for each if the screen is too narrow."""
        say = self.session.voice.say
        yield Header(icon="")
        yield Tabs(Tab(say("tab.talk"), id="tab-talk"), Tab(say("tab.side"), id="tab-side"))
        with Horizontal():
            with Vertical(id="talk"):
                yield Transcript(self.session.voice)
                yield Busy(self.session.voice)
                yield Offers()
                yield Names(self.session.voice)
                history = History(messages=[*self.session.sent])
                yield MessageInput(say("input"), self.session.observer.folder, history)
            yield Side(self.session.voice)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Start the conversation with the saved theme."""
        theme = find_theme()
        if theme in self.available_themes:
            self.theme = theme
        self.theme_changed_signal.subscribe(self, self._themed)
        self._work(Session.start)

    def _themed(self, theme: Theme) -> None:
        keep_theme(theme.name)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer every action of the table in the palette, and some of Textual's commands."""
        say = self.session.voice.say
        for command in super().get_system_commands(screen):
            if key := _OWN.get(command.title):
                yield SystemCommand(say(key), say(f"{key}.help"), command.callback)
        for action in ACTIONS:
            yield SystemCommand(
                say(action.label), say(action.help), partial(self.action_do, action.name)
            )

    def action_command_palette(self) -> None:
        """Open the palette, with its prompt in the user's language."""
        if not isinstance(self.screen, CommandPalette):
            prompt = self.session.voice.say("palette.search")
            self.push_screen(CommandPalette(placeholder=prompt, id="--command-palette"))

    @on(MessageInput.Sent)
    def _sent(self, event: MessageInput.Sent) -> None:
        offer = self.query_one(Offers).find(event.text.strip())
        self._send(event.text if offer is None or self.waiting else offer.says)

    @on(MessageInput.Completing)
    def _completing(self, event: MessageInput.Completing) -> None:
        self.query_one(Names).show(event.found, self._message.chosen)

    @on(MessageInput.Left)
    def _left(self) -> None:
        if self.query_one(Offers).display:
            self.query_one(Offers).focus()

    @on(TextArea.Changed, "#message")
    def _typed(self, event: TextArea.Changed) -> None:
        self.query_one(Offers).point(event.text_area.text.strip())

    @on(Names.Taken)
    def _taken(self, event: Names.Taken) -> None:
        self._message.take(event.index)

    @on(Examples.Picked)
    def _picked(self, event: Examples.Picked) -> None:
        self._message.fill(event.text)
        self._message.focus()

    @on(Offers.Chosen)
    def _chosen(self, event: Offers.Chosen) -> None:
        self._send(event.offer.says)

    @on(Findings.Picked)
    def _finding(self, event: Findings.Picked) -> None:
        if event.finding.is_fixable:
            self._repair(event.finding.code)
        else:
            self._send(self.session.voice.say("finding.says", code=event.finding.code))

    @property
    def _message(self) -> MessageInput:
        return self.query_one(MessageInput)

    @on(Tabs.TabActivated)
    def _switched(self, event: Tabs.TabActivated) -> None:
        is_side = event.tab.id == "tab-side"
        self.screen.set_class(is_side, "-side")
        if is_side:
            self.query_one("#rows").focus()
        else:
            self._message.focus()

    def on_key(self, event: Key) -> None:
        """Send typed characters to the message, wherever the focus is."""
        message = self.screen_stack[0].query_one(MessageInput)
        if self.screen is not message.screen or not message.display:
            return
        if event.is_printable and event.character and not message.has_focus:
            event.stop()
            message.focus()
            message.insert(event.character)

    def action_help_quit(self) -> None:
        """Explain Ctrl-C, and quit when it is pressed again; with a selection, copy it."""
        if monotonic() - self.interrupted < _AGAIN_SECONDS:
            self.exit()
            return
        self.interrupted = monotonic()
        self.notify(self.session.voice.say("quit.again"), timeout=_AGAIN_SECONDS)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text, and say so."""
        super().copy_to_clipboard(text)
        self.notify(self.session.voice.say("copied"), timeout=_AGAIN_SECONDS)

    def _send(self, text: str) -> None:
        self._ask(lambda session: session.reply(text), Line(who="you", text=text))

    def _repair(self, code: str | None) -> None:
        """Apply the fix of a finding, by default the first fixable one."""
        fixable = (each.code for each in self.query_one(Findings).shown if each.is_fixable)
        code = code or next(fixable, None)
        shown = () if code is None else (self.session.asked_to_fix(code),)
        self._ask(lambda session: session.repair(code), *shown)

    def _ask(self, call: Call, *shown: Line) -> None:
        self.query_one(Tabs).active = "tab-talk"
        self.query_one(Transcript).add(shown)
        self.waiting.append(call)
        self._next()

    def _next(self) -> None:
        """Answer the next message, unless a reply is in progress."""
        if self.waiting and not self.query_one(Busy).active:
            self._work(self.waiting.pop(0))

    @work(exclusive=True, exit_on_error=False, group="reply")
    async def _work(self, call: Call) -> None:
        """Reply on a copy of the session; a cancelled reply does not change the session."""
        self.query_one(Busy).begin()
        session = self.session.fork()
        number = self.replies
        session.hears = lambda model, piece: self._pass_on(Heard(number, model, piece))
        try:
            lines = await run_in_background(partial(call, session))
        except EnvironmentFailure as failure:
            text = tell_failure(failure, self.session.voice)
            self._fail(Line(who="ftc", text=text, kind="trouble"))
        except Exception as error:
            if os.environ.get("FTC_DEBUG") == "1":
                raise
            self._fail(self.session.line("defect", "trouble", error=type(error).__name__))
        else:
            self._show(session, lines)

    def _pass_on(self, heard: Heard) -> None:
        """Show a piece of a reply from its thread."""
        self.post_message(heard)

    @on(Heard)
    async def _heard(self, heard: Heard) -> None:
        """Show a piece, unless its reply has ended or was cancelled."""
        if heard.reply == self.replies:
            await self.query_one(Transcript).hear(heard.model, heard.piece)

    def _fail(self, line: Line) -> None:
        """Show the reason why there is no reply; the session does not change."""
        self.query_one(Transcript).add((line,))
        self._idle()

    def _show(self, session: Session, lines: tuple[Line, ...]) -> None:
        finished = session.finished is not self.session.finished
        self.session = session
        self.sub_title = "" if session.agent is None else session.agent.model
        self.query_one(Transcript).add(lines)
        self.query_one(Side).show(make_view(session))
        step = session.step
        suggested = step.suggested if isinstance(step, Question) else None
        self.query_one(Offers).offer(make_buttons(session), suggested)
        folder = session.observer.folder
        keep(folder, Kept(draft=session.lasting_draft, transcript=tuple(session.transcript)))
        launched, bundle = session.launched, session.finished
        if bundle is not None and bundle.bundle is not None and (finished or launched is not None):
            self.push_screen(BundleScreen(bundle, session.voice, launched))
        self._idle()
        if session.ended:
            self.exit()

    def _idle(self) -> None:
        """Wait for a message, or answer one that is already queued."""
        self.replies += 1
        self.query_one(Busy).end()
        self._message.focus()
        self.call_later(self._next)

    def action_do(self, name: str) -> None:
        """Run one action of the table."""
        action = next(each for each in ACTIONS if each.name == name)
        if action.sends:
            self._send(self.session.voice.say(action.says))
        else:
            self._do_here(action)

    def _do_here(self, action: Action) -> None:
        """Run an action that affects only the screen."""
        match action.name:
            case "cancel":
                self._cancel()
            case "next_pane":
                self._turn()
            case "fix":
                self._repair(None)
            case "help":
                self.push_screen(HelpScreen(self.session.voice))
            case "leave":
                self.exit()

    def _cancel(self) -> None:
        """Stop waiting for a reply; the session does not change."""
        if self.session.agent is not None:
            self.session.agent.brake.pull()
        self.waiting.clear()
        if self.workers.cancel_group(self, "reply"):
            self.query_one(Transcript).add((self.session.line("cancelled"),))
        self.query_one(Tabs).active = "tab-talk"
        self._idle()

    def _turn(self) -> None:
        """Focus the spec or the message, and open its tab on a narrow screen."""
        rows = self.query_one("#rows")
        if self.screen.has_class("-narrow"):
            tabs = self.query_one(Tabs)
            tabs.active = "tab-side" if tabs.active == "tab-talk" else "tab-talk"
        elif rows.has_focus or not rows.display:
            self._message.focus()
        else:
            rows.focus()
