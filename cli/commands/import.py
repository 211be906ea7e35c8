"""`ftc import`: a config of another trainer as a spec, and what became of each of its keys."""

import json
from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.commands.options import FAILED, format_option, tell_findings
from ftc.compiler.importing.importer import import_file
from ftc.compiler.write.disk import typed
from ftc.report.imported import import_data, report_import
from ftc.report.json_output import dump
from ftc.report.subject import Subject
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.findings.quote import shell_word
from ftc.spec.message import reason_of


@click.command(name="import", short_help=COMMANDS["import"])
@click.argument(
    "source",
    metavar="FILE",
    type=click.Path(allow_dash=True, readable=False, path_type=str),
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The spec's file, which is never replaced (default: standard output).",
)
@click.option("--name", help="The name of the run (default: the name of the file).")
@click.option("--model", help="A Hub id or a folder, in place of the file's model.")
@click.option("--data", help="A file or a Hub data set, in place of the file's data.")
@click.option(
    "--hardware",
    help='The GPUs, such as "8x H100-80GB": the global batch of the file depends on their number.',
)
@format_option("what became of the keys")
@click.pass_context
def command(
    context: click.Context,
    *,
    source: str,
    output: Path | None,
    name: str | None,
    model: str | None,
    data: str | None,
    hardware: str | None,
    report: str,
) -> None:
    """Turn a config of another trainer into a spec.

    FILE is a YAML of axolotl, LLaMA-Factory or torchtune, a YAML or the arguments of TRL, or a
    notebook or script that uses Unsloth; - is standard input. Nothing of it is run. Every key is
    carried over, derived, or listed with the reason that it is not.
    """
    result = import_file(source, name=name, model=model, data=data, hardware=hardware)
    spec = None if result.spec is None else json.dumps(result.spec, indent=2, ensure_ascii=False)
    if output is not None and spec is not None:
        _write(output, f"{spec}\n")
    if report == "json":
        click.echo(dump(import_data(result)))
    else:
        shown = report_import(result)
        if shown:
            click.echo(shown, err=output is None)
        if spec is not None and output is None:
            click.echo(spec)
        tell_findings(result.findings, Subject(name=source, text=result.text))
        if output is not None and spec is not None:
            click.echo(f"\nwrote {typed(output)}\nnext: ftc check {shell_word(typed(output))}")
    if result.findings:
        context.exit(FAILED)


def _write(path: Path, text: str) -> None:
    """Write a file, unless it exists."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise EnvironmentFailure(
            message=f"`{typed(path)}` exists", help="name another file, or move it away"
        ) from None
    except OSError as error:
        raise EnvironmentFailure(
            message=f"`{typed(path)}` cannot be written: {reason_of(error)}",
            help="name a file in a folder that exists and that you may write to",
        ) from None
