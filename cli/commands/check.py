"""`ftc check`: everything that is wrong with a spec, and the repairs that are certain."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ftc.commands import COMMANDS
from ftc.commands.options import FAILED, make_subject, spec_argument, wants_colour
from ftc.compiler.pipeline import Outcome, check
from ftc.report import REPORTERS
from ftc.written import write_fixes


@click.command(name="check", short_help=COMMANDS["check"])
@spec_argument
@click.option(
    "--format",
    "report",
    type=click.Choice(list(REPORTERS)),
    default="text",
    show_default=True,
    help="How to print the findings.",
)
@click.option("--fix", is_flag=True, help="Make the repairs that are certain (JSON specs).")
@click.option("--strict", is_flag=True, help="Exit with 1 on warnings too.")
@click.pass_context
def command(context: click.Context, source: str, report: str, fix: bool, strict: bool) -> None:
    """Say everything that is wrong with a spec.

    SPEC is a file in JSON or YAML, or - for standard input.
    """
    if fix and (source == "-" or Path(source).suffix.lower() in {".yaml", ".yml"}):
        raise click.UsageError("--fix edits a JSON spec in a file.")
    outcome = check(source)
    if fix and _repair(source, outcome):
        outcome = check(source)
    subject = make_subject(source, outcome.document)
    colour = wants_colour(sys.stdout.isatty())
    findings = write_fixes(outcome.findings, outcome.document)
    text = REPORTERS[report](findings, subject=subject, colour=colour)
    if not outcome.findings and report == "text":
        text = f"{subject.name}: nothing is wrong"
    if text:
        click.echo(text)
    severe = {"error", "warning"} if strict else {"error"}
    if any(finding.severity in severe for finding in outcome.findings):
        context.exit(FAILED)


def _repair(source: str, outcome: Outcome) -> bool:
    """Apply every fix that no other one contradicts; says what was done on stderr."""
    from ftc.repair import repair  # noqa: PLC0415 - for --fix only

    findings = write_fixes(outcome.findings, outcome.document)
    if not findings:
        return False
    # the bytes of the file: line ends stay as they are
    text = None if outcome.document is None else Path(source).read_bytes().decode("utf-8")
    repaired = repair(text, findings) if text is not None else None
    if repaired is None or not repaired.fixed:
        click.echo("nothing can be repaired for certain", err=True)
        return False
    repaired.save(Path(source))
    for finding in repaired.fixed:
        for operation in finding.fix:
            click.echo(f"{source}: {finding.code}: {_say(operation)}", err=True)
    if not repaired.faithful:
        click.echo(f"{source}: laid out anew", err=True)
    return True


def _say(operation: Mapping[str, Any]) -> str:
    """Return a repair in words, such as "set /method/rank to 8"."""
    match operation["op"]:
        case "move":
            return f"renamed {operation['from']} to {operation['path']}"
        case "remove":
            return f"removed {operation['path']}"
    return f"set {operation['path']} to {json.dumps(operation.get('value'), ensure_ascii=False)}"
