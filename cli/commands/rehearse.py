"""`ftc rehearse`: the whole bundle of a spec run on this machine, on a miniature of its model."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.commands.options import FAILED, make_subject, spec_argument, tell_findings
from ftc.compiler.rehearse.rehearsal import rehearse
from ftc.compiler.rehearse.stage import Stage
from ftc.report.machine import dump
from ftc.report.rehearsal import rehearsal_data, report_rehearsal, report_stage


@click.command(name="rehearse", short_help=COMMANDS["rehearse"])
@spec_argument
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="A new folder for the rehearsal's files (default: they are removed).",
)
@click.option(
    "--format",
    "report",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the table of stages.",
)
@click.pass_context
def command(context: click.Context, source: str, keep: Path | None, report: str) -> None:
    """Run the whole bundle in miniature, on this machine's CPU.

    SPEC is a file in JSON or YAML, or - for standard input. The model is replaced by one of the
    same architecture that is a few layers deep; tokenizer, data and scripts are the real ones.
    Training is killed once and goes on. It takes a few minutes and needs `ftc[run]`.
    """
    rehearsal = rehearse(source, keep=keep, tell=_teller(is_terminal=sys.stderr.isatty()))
    if rehearsal.failure is not None and rehearsal.failure.stage == "compile":
        tell_findings(rehearsal.findings, make_subject(source, None))
    as_json = report == "json"
    click.echo(dump(rehearsal_data(rehearsal)) if as_json else report_rehearsal(rehearsal))
    if rehearsal.failure is not None:
        context.exit(FAILED)


def _teller(*, is_terminal: bool) -> Callable[[str, Stage | None], None]:
    """Return what says on stderr that a stage begins and how it ends."""

    def tell(name: str, stage: Stage | None) -> None:
        if stage is None and is_terminal:
            click.echo(f"{name} ...", err=True, nl=False)
        elif stage is not None:
            start = "\r\x1b[K" if is_terminal else ""
            click.echo(start + report_stage(stage), err=True)

    return tell
