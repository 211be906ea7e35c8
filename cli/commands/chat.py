"""`ftc chat`: the assistant, full screen, line by line, or served to a browser on this machine."""

import os
import shlex
import sys
from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.commands.options import FAILED, can_draw, make_subject, tell_findings
from ftc.spec.load import load_document
from ftc.tui.agent.address import Wanted
from ftc.tui.agent.finder import Finder
from ftc.tui.front_ends.plain import converse, converse_in_json
from ftc.tui.languages.voice import LANGUAGES
from ftc.tui.session.opening import make_session
from ftc.tui.terminal.orphan import end_with_parent


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
    metavar="FILE|URL|none",
    help="A language model for messages that the assistant does not understand: it answers and "
    "proposes changes, which you confirm. FILE is a GGUF file (needs llama-cpp-python). URL is an "
    "OpenAI-compatible server, such as http://localhost:11434/v1; your message and the settings "
    "are sent to it. Without --llm, a server that runs on this machine is offered once; none looks "
    "for no server.",
)
@click.option("--llm-model", metavar="NAME", help="The model on the server, if it has several.")
@click.option(
    "--llm-key",
    metavar="VARIABLE",
    help="The environment variable with the server's key (default: FTC_LLM_KEY, if it is set).",
)
@click.option(
    "--serve", "served", is_flag=True, help="Open the assistant in a browser on this machine."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port for --serve (default: a free one)."
)
@click.pass_context
def command(
    context: click.Context,
    spec: Path | None,
    *,
    plain: bool,
    output: str,
    lang: str | None,
    llm: str | None,
    llm_model: str | None,
    llm_key: str | None,
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
    if spec is not None and isinstance(found := load_document(str(spec)), tuple):
        tell_findings(found, make_subject(str(spec), None))
        context.exit(FAILED)
    wanted = Wanted(source=llm, name=llm_model, key_variable=llm_key)
    if (llm_model or llm_key) and not wanted.is_address:
        raise click.UsageError("--llm-model and --llm-key go with an address in --llm.")
    if served:
        if plain:
            raise click.UsageError("--plain and --serve cannot be combined.")
        _serve(port or 0, _again(spec, lang, wanted))
        return
    session = make_session(Path(), language=lang, spec=spec, model=wanted)
    if llm is None and output == "text":
        session.finder = Finder()
    if plain or not can_draw():
        talk = converse_in_json if output == "json" else converse
        talk(session, sys.stdin, sys.stdout)
        return
    from ftc.tui.front_ends.app import Assistant  # noqa: PLC0415 - Textual is slow to import

    if os.environ.get("TEXTUAL_DRIVER"):
        end_with_parent()
    Assistant(session).run()


def _again(spec: Path | None, lang: str | None, wanted: Wanted) -> str:
    """Return the command that starts the same conversation, in the shell's words."""
    words = [sys.executable, "-m", "ftc", "chat"]
    words += ["--lang", lang] if lang else []
    words += ["--llm", wanted.source] if wanted.source else []
    words += ["--llm-model", wanted.name] if wanted.name else []
    words += ["--llm-key", wanted.key_variable] if wanted.key_variable else []
    return shlex.join([*words, *(["--", str(spec)] if spec else [])])


def _serve(port: int, again: str) -> None:
    from ftc.tui.front_ends.server import listen, serve  # noqa: PLC0415 - an extra

    served = listen(port)
    click.echo(f"Open {served.address} in a browser on this machine; press Ctrl-C to stop.")
    serve(served, again)
