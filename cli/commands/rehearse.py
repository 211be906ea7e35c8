"""`ftc rehearse`: the whole bundle of a spec run on this machine, on a miniature of its model."""

import sys
from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.commands.options import FAILED, format_option, make_subject, spec_argument, tell_findings
from ftc.compiler.rehearse.rehearsal import rehearse
from ftc.compiler.rehearse.stage import Stage, Tell
from ftc.report.json_output import dump
from ftc.report.rehearsal import rehearsal_data, report_rehearsal, report_stage


@click.command(name="rehearse", short_help=COMMANDS["rehearse"])
@spec_argument
@click.option(
    "--keep",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="A new folder for the rehearsal's files (default: they are removed).",
)
@format_option("the table of stages")
@click.pass_context
def command(context: click.Context, source: str, keep: Path | None, report: str) -> None:
    """Run the whole bundle on this machine's CPU, with a tiny model.

    SPEC is a file in JSON or YAML, or - for standard input. The model is replaced by one of the
    same architecture that is a few layers deep; tokenizer, data and scripts are the real ones.
    Training is killed once and resumed. It takes a few minutes and needs the extra `run`.
    """
    as_json = report == "json"
    live = not as_json and sys.stdout.isatty()
    rehearsal = rehearse(source, keep=keep, tell=_teller(to_table=live))
    if rehearsal.failure is not None and rehearsal.failure.stage == "compile":
        tell_findings(rehearsal.findings, make_subject(source, None))
    if as_json:
        click.echo(dump(rehearsal_data(rehearsal)))
    else:
        click.echo(report_rehearsal(rehearsal, seen=live))
    if rehearsal.failure is not None:
        context.exit(FAILED)


def _teller(*, to_table: bool) -> Tell:
    """Return what says that a stage begins and how it ends.

    On a terminal the lines are the table itself; elsewhere stderr tells how far it is.
    """

    def tell(name: str, stage: Stage | None) -> None:
        if stage is not None:
            click.echo(("\r\x1b[K" if to_table else "") + report_stage(stage), err=not to_table)
        elif to_table:
            click.echo(f"{name} ...", nl=False)

    return tell
