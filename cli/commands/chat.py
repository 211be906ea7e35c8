"""`ftc chat`: the assistant, full screen, line by line, or served to a browser on this machine."""

import os
import shlex
import sys
from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.commands.options import can_draw
from ftc.tui.opening import make_session
from ftc.tui.orphan import end_with_parent
from ftc.tui.plain import converse, converse_in_json
from ftc.tui.voice import LANGUAGES


@click.command(name="chat", short_help=COMMANDS["chat"])
@click.argument("spec", required=False, type=click.Path(path_type=Path))
@click.option("--plain", is_flag=True, help="Ask line by line, without a full screen.")
@click.option(
    "--format",
    "output",
    type=click.Choice(("text", "json")),
    default="text",
    help="With --plain: json prints one object per message, with what was applied and asked.",
)
@click.option("--lang", type=click.Choice(LANGUAGES), help="Language: English, Catalan or Spanish.")
@click.option(
    "--llm",
    type=click.Path(path_type=Path),
    help="A GGUF file of a language model that interprets messages which the assistant does not "
    "understand: it proposes changes, which you confirm. Needs llama-cpp-python.",
)
@click.option(
    "--serve", "served", is_flag=True, help="Open the assistant in a browser on this machine."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port for --serve (default: a free one)."
)
def command(
    spec: Path | None,
    *,
    plain: bool,
    output: str,
    lang: str | None,
    llm: Path | None,
    served: bool,
    port: int | None,
) -> None:
    """Plan a fine-tune in a conversation; write its spec and its bundle.

    SPEC is an existing spec to change. On a simple terminal, questions are asked line by line.
    """
    if port is not None and not served:
        raise click.UsageError("--port goes with --serve.")
    if output == "json" and not plain:
        raise click.UsageError("--format json goes with --plain.")
    if served:
        if plain:
            raise click.UsageError("--plain and --serve are two ways: take one.")
        _serve(port or 0, _again(spec, lang, llm))
        return
    session = make_session(Path(), language=lang, spec=spec, model=llm)
    if plain or not can_draw():
        talk = converse_in_json if output == "json" else converse
        talk(session, sys.stdin, sys.stdout)
        return
    from ftc.tui.app import Assistant  # noqa: PLC0415 - Textual is slow to import

    if os.environ.get("TEXTUAL_DRIVER"):
        end_with_parent()
    Assistant(session).run()


def _again(spec: Path | None, lang: str | None, llm: Path | None) -> str:
    """Return the command that starts the same conversation, in the shell's words."""
    words = [sys.executable, "-m", "ftc", "chat"]
    words += ["--lang", lang] if lang else []
    words += ["--llm", str(llm)] if llm else []
    return shlex.join([*words, *(["--", str(spec)] if spec else [])])


def _serve(port: int, again: str) -> None:
    from ftc.tui.server import listen, serve  # noqa: PLC0415 - an extra

    served = listen(port)
    click.echo(f"Open {served.address} in a browser on this machine; press Ctrl-C to stop.")
    serve(served, again)
