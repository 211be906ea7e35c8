"""The entry point: the `ftc` command, its exit codes, and its error messages."""

import errno
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

import click

from ftc import __version__
from ftc.commands import Commands
from ftc.spec.findings.finding import EnvironmentFailure

INTERRUPTED: Final = 130
DEFECT: Final = 70
BROKEN_PIPE: Final = 141


@click.group(
    name="ftc",
    cls=Commands,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 findings with errors, 2 usage, 3 the environment failed.",
)
@click.version_option(__version__, message="ftc %(version)s")
@click.pass_context
def ftc(context: click.Context) -> None:
    """Compile fine-tunes: a spec in, plain scripts that train and quantize out.

    Without a command the assistant opens: `ftc chat`.
    """
    if context.invoked_subcommand is None:
        from ftc.commands.chat import command  # noqa: PLC0415 - for the assistant only

        context.invoke(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `ftc` and exit: 0 done, 1 findings with errors, 2 usage, 3 the environment failed."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every failure becomes a sentence."""
    try:
        _prepare_output()
        code = _invoke(arguments)
        sys.stdout.flush()
    except EnvironmentFailure as failure:
        click.echo(f"ftc: {failure.message}\nhelp: {failure.help}", err=True)
        return failure.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("ftc: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader has gone: nothing more can be written
        _drop_output()
        return BROKEN_PIPE
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
            _drop_output()
            click.echo("ftc: the output cannot be written: no space left on device", err=True)
            return EnvironmentFailure.exit_code
        if os.environ.get("FTC_DEBUG") == "1":
            raise
        click.echo(_say_defect(error), err=True)
        return DEFECT
    return code


def _prepare_output() -> None:
    """Print a character outside the encoding as an escape, and nothing if output is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
            setattr(sys, name, nowhere)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Drop unprinted output, so that Python does not try again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _invoke(arguments: Sequence[str]) -> int:
    """Parse and call; usage errors are click's own, with exit code 2."""
    instruction = os.environ.get("_FTC_COMPLETE")
    if instruction:
        from click.shell_completion import shell_complete  # noqa: PLC0415 - when a shell asks

        return shell_complete(ftc, {}, "ftc", "_FTC_COMPLETE", instruction)
    try:
        with ftc.make_context("ftc", list(arguments)) as context:
            ftc.invoke(context)
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    return 0


def _say_defect(error: Exception) -> str:
    """Save the traceback in a file, and print its path in two lines."""
    import tempfile  # noqa: PLC0415 - for a defect only
    import traceback  # noqa: PLC0415

    details = "".join(traceback.format_exception(error))
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="ftc-defect-", suffix=".txt", delete=False
    ) as file:
        file.write(f"ftc {__version__}, python {sys.version}\n{details}")
    return (
        f"ftc: this is a defect of ftc, not of your spec ({type(error).__name__})\n"
        f"help: please report it with the details in {file.name} (FTC_DEBUG=1 prints them)"
    )


if __name__ == "__main__":
    main()
