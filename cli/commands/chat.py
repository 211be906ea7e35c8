"""`ftc chat`: the assistant, full screen, line by line, or served to a browser on this machine."""

import os
import sys
from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.tui.opening import make_session
from ftc.tui.plain import converse
from ftc.tui.shelf import Kept, keep
from ftc.tui.voice import LANGUAGES


@click.command(name="chat", short_help=COMMANDS["chat"])
@click.argument("spec", required=False, type=click.Path(path_type=Path))
@click.option("--plain", is_flag=True, help="Ask line by line, with no screen to draw.")
@click.option("--lang", type=click.Choice(LANGUAGES), help="English, Catalan or Spanish.")
@click.option(
    "--llm",
    type=click.Path(path_type=Path),
    help="A GGUF file of a language model, for messages that the words alone do not explain.",
)
def command(spec: Path | None, *, plain: bool, lang: str | None, llm: Path | None) -> None:
    """Talk a fine-tune through: questions in, a spec, a plan and a bundle out.

    SPEC is a spec to change. Without a terminal that can draw, questions come line by line.
    """
    session = make_session(Path(), language=lang, spec=spec, model=llm)
    if plain or not can_draw():
        try:
            converse(session, sys.stdin, sys.stdout)
        finally:
            keep(Path(), Kept(draft=session.draft, transcript=tuple(session.transcript)))
        return
    from ftc.tui.app import Assistant  # noqa: PLC0415 - Textual is slow to import

    Assistant(session).run()


def can_draw() -> bool:
    """Whether a screen can be drawn: a terminal at both ends, and not a dumb one."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
