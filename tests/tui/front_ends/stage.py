"""Runs the assistant without a terminal, and reads its screen as text."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any

from rich.color import Color
from rich.console import Console

from ftc.tui.front_ends.app import Assistant
from ftc.tui.session.session import Session
from ftc.tui.widgets.busy import Busy
from ftc.tui.widgets.message import MessageInput

SMALL, LARGE = (80, 24), (120, 36)
_STEP_SECONDS = 0.02
_PATIENCE_SECONDS = 30.0

Part = Callable[[Assistant, Any], Awaitable[None]]


def play(session: Session, part: Part, size: tuple[int, int] = SMALL) -> Assistant:
    """Open the assistant on a session, run a scenario, and return it after the end."""
    app = Assistant(session)
    app.animation_level = "none"

    async def perform() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await settle(app, pilot)
            await part(app, pilot)

    asyncio.run(perform())
    return app


async def settle(app: Assistant, pilot: Any) -> None:
    """Wait until every message was answered."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        await pilot.pause()
        while app.waiting or app.query_one(Busy).active:
            await asyncio.sleep(_STEP_SECONDS)
            await pilot.pause()
    await pilot.pause()


async def say(app: Assistant, pilot: Any, *messages: str) -> None:
    """Send messages, each after the reply to the one before; all but its last letter is pasted.

    A key costs a screen: letters that no test is about are not typed one by one.
    """
    for message in messages:
        await send(app, pilot, message)
        await settle(app, pilot)


async def send(app: Assistant, pilot: Any, message: str) -> None:
    """Send a message, and do not wait for the reply."""
    line = app.query_one(MessageInput)
    line.focus()
    line.fill(message[:-1])
    await pilot.press(_key(message[-1]), "enter")


def seen(app: Assistant) -> str:
    """Return the text on the screen, line by line, without colours."""
    width, height = app.size
    console = Console(
        width=width, height=height, file=io.StringIO(), force_terminal=True, record=True
    )
    console.print(
        app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    )
    lines = console.export_text(styles=False).split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def painted(app: Assistant) -> str:
    """Return the colours of the words on the screen: a line for each pair, with its first words.

    This is what a picture has beside the text, in a form that a diff shows.
    """
    pairs: dict[str, str] = {}
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            style = segment.style
            if style is None or not segment.text.strip():
                continue
            kinds = ("bold", "italic", "strike", "reverse", "dim", "underline")
            how = " ".join(kind for kind in kinds if getattr(style, kind))
            ends = [_hex(style.color), _hex(style.bgcolor)]
            pairs.setdefault(f"{ends[0]} on {ends[1]} {how}".rstrip(), segment.text.strip()[:40])
    return "".join(f"{pair}: {words}\n" for pair, words in sorted(pairs.items()))


def _hex(colour: Color | None) -> str:
    return "default" if colour is None else colour.get_truecolor().hex


def _key(letter: str) -> str:
    names = {" ": "space", ",": "comma", ".": "full_stop", "?": "question_mark", "/": "slash"}
    return names.get(letter, letter)
