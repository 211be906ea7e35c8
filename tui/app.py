"""The full-screen assistant: the conversation on the left, the spec and plan on the right."""

import os
from collections.abc import Iterable
from functools import partial
from typing import Final

from textual import on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.command import CommandPalette
from textual.containers import Horizontal, Vertical
from textual.events import Key
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import Footer, Header, Input, Tab, Tabs

from ftc.spec.finding import EnvironmentFailure
from ftc.tui.actions import ACTIONS, Action
from ftc.tui.background import run_in_background
from ftc.tui.dialogue import Question
from ftc.tui.language_model import ModelReader
from ftc.tui.line import Line
from ftc.tui.saved_state import Kept, find_theme, keep, keep_theme
from ftc.tui.session import Session
from ftc.tui.translation import tell_failure
from ftc.tui.view import make_offers, make_view
from ftc.tui.widgets.bundle import BundleScreen
from ftc.tui.widgets.busy import Busy
from ftc.tui.widgets.help import HelpScreen
from ftc.tui.widgets.message import MessageInput
from ftc.tui.widgets.offers import Offers
from ftc.tui.widgets.side import Side
from ftc.tui.widgets.transcript import Transcript

_WAY_OUT: Final = "ctrl+q"
#: Textual's commands that are not in the table of actions, with their catalogue keys.
_OWN: Final = {"Theme": "palette.theme", "Screenshot": "palette.screenshot"}


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
        self.waiting: list[str] = []
        say = session.voice.say
        # hide Textual's own quit binding from the footer, and name the palette in words of ours
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
        """Lay out the two sides, or one tab for each if the screen is too narrow."""
        say = self.session.voice.say
        yield Header()
        yield Tabs(Tab(say("tab.talk"), id="tab-talk"), Tab(say("tab.side"), id="tab-side"))
        with Horizontal():
            with Vertical(id="talk"):
                yield Transcript(self.session.voice)
                yield Busy(self.session.voice)
                yield Offers(id="offers")
                yield MessageInput(placeholder=say("input"), select_on_focus=False, id="message")
            yield Side(id="side")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Start the conversation with the saved theme."""
        theme = find_theme()
        if theme in self.available_themes:
            self.theme = theme
        self.theme_changed_signal.subscribe(self, self._themed)
        self._work(None)

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

    @on(Input.Submitted, "#message")
    def _sent(self, event: Input.Submitted) -> None:
        event.input.clear()
        self._send(event.value)

    @on(MessageInput.Pasted)
    def _pasted(self, event: MessageInput.Pasted) -> None:
        self._send(event.text)

    @on(Offers.Chosen)
    def _chosen(self, event: Offers.Chosen) -> None:
        self._send(str(event.index + 1))

    @on(Tabs.TabActivated)
    def _switched(self, event: Tabs.TabActivated) -> None:
        is_side = event.tab.id == "tab-side"
        self.screen.set_class(is_side, "-side")
        if is_side:
            self.query_one(Side).focus()
        else:
            self.query_one("#message", Input).focus()

    def on_key(self, event: Key) -> None:
        """Send typed characters to the input, wherever the focus is; arrows move to the answers."""
        message = self.query_one("#message", Input)
        if self.screen is not message.screen or not message.display:
            return
        if event.is_printable and event.character and not message.has_focus:
            event.stop()
            message.focus()
            message.insert_text_at_cursor(event.character)
        elif event.key in ("up", "down") and message.has_focus and self.query_one(Offers).display:
            event.stop()
            self.query_one(Offers).focus()

    def _send(self, text: str) -> None:
        self.query_one(Tabs).active = "tab-talk"
        self.query_one(Transcript).add((Line(who="you", text=text),))
        self.waiting.append(text)
        self._next()

    def _next(self) -> None:
        """Answer the next message, unless a reply is in progress."""
        if self.waiting and not self.query_one(Busy).active:
            self._work(self.waiting.pop(0))

    @work(exclusive=True, exit_on_error=False, group="reply")
    async def _work(self, text: str | None) -> None:
        """Reply on a copy of the session; a cancelled reply does not change the session."""
        self.query_one(Busy).begin()
        session = self.session.fork()
        try:
            lines = await run_in_background(
                session.start if text is None else partial(session.reply, text)
            )
        except EnvironmentFailure as failure:
            text = tell_failure(failure, self.session.voice)
            self._fail(Line(who="ftc", text=text, kind="trouble"))
        except Exception as error:
            if os.environ.get("FTC_DEBUG") == "1":
                raise
            self._fail(self.session.line("defect", "trouble", error=type(error).__name__))
        else:
            self._show(session, lines)

    def _fail(self, line: Line) -> None:
        """Show why there is no reply; the session does not change."""
        self.query_one(Transcript).add((line,))
        self._idle()

    def _show(self, session: Session, lines: tuple[Line, ...]) -> None:
        finished = session.finished is not self.session.finished
        self.session = session
        self.query_one(Transcript).add(lines)
        self.query_one(Side).show(make_view(session))
        step = session.step
        suggested = step.suggested if isinstance(step, Question) else None
        self.query_one(Offers).offer(make_offers(session), suggested)
        folder = session.observer.folder
        keep(folder, Kept(draft=session.draft, transcript=tuple(session.transcript)))
        if finished and session.finished is not None and session.finished.bundle is not None:
            self.push_screen(BundleScreen(session.finished, session.voice))
        self._idle()
        if session.ended:
            self.exit()

    def _idle(self) -> None:
        """Wait for a message, or answer one that is already queued."""
        self.query_one(Busy).end()
        self.query_one("#message", Input).focus()
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
            case "help":
                self.push_screen(HelpScreen(self.session.voice))
            case "leave":
                self.exit()

    def _cancel(self) -> None:
        """Stop waiting for a reply; the session does not change."""
        for reader in self.session.understanders:
            if isinstance(reader, ModelReader):
                reader.stop.set()
        if self.session.agent is not None:
            self.session.agent.brake.pull()
        self.waiting.clear()
        if self.workers.cancel_group(self, "reply"):
            self.query_one(Transcript).add((self.session.line("cancelled"),))
        self.query_one(Tabs).active = "tab-talk"
        self._idle()

    def _turn(self) -> None:
        """Focus the other pane, or open the other tab on a narrow screen."""
        if self.screen.has_class("-narrow"):
            tabs = self.query_one(Tabs)
            tabs.active = "tab-side" if tabs.active == "tab-talk" else "tab-talk"
        else:
            self.screen.focus_next()
