"""`ftc plan`: the cost of a spec, the reason for each number, and alternatives that fit."""

import sys
from collections.abc import Mapping
from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.commands.options import (
    FAILED,
    calibrate_option,
    make_subject,
    set_option,
    spec_argument,
    tell_findings,
)
from ftc.compiler.pipeline import Outcome, check
from ftc.compiler.plan.summary.headline import PARTS
from ftc.compiler.render.files.picture import draw_plan
from ftc.compiler.resolve.facts import known
from ftc.report.json_output import dump
from ftc.report.plan import plan_data, report_plan
from ftc.report.plan_trace import TraceError, trace_backbone

_ENVIRONMENT = 3  # exit code: something of this machine is missing


@click.command(name="plan", short_help=COMMANDS["plan"])
@spec_argument
@click.option(
    "--format",
    "report",
    type=click.Choice(["text", "json", "svg"]),
    default="text",
    show_default=True,
    help="How to print the plan.",
)
@set_option
@click.option(
    "--offers",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Rank the machines of a price file by what this run costs and takes on each. The file: "
    '{"offers": [{"name": "any name", "hardware": "1x L4", "price_per_hour": 1}]}, in JSON or '
    "YAML, with the price of the whole machine.",
)
@calibrate_option
@click.option(
    "--trace",
    is_flag=True,
    help="Also trace the model with torch, in a separate process, to check the plan.",
)
@click.pass_context
def command(
    context: click.Context,
    *,
    source: str,
    report: str,
    overrides: Mapping[str, str],
    calibrate: Path | None,
    offers: Path | None,
    trace: bool,
) -> None:
    """Show the memory, batch, time and disk of a run, and alternatives.

    SPEC is a file in JSON or YAML, or - for standard input.
    """
    if offers is not None:
        _require_offers_alone(source, calibrate, overrides, whole=trace or report == "svg")
        context.exit(_rank(source, offers, overrides, report=report))
    outcome = check(source, overrides=overrides, calibrate=calibrate)
    if report == "json":
        click.echo(dump(plan_data(outcome)))
    elif outcome.plan is not None and outcome.spec is not None:
        if report == "svg":
            click.echo(draw_plan(outcome.spec.name, outcome.plan))
        else:
            click.echo(report_plan(outcome.spec.name, outcome.plan, plain=not has_blocks()))
    if trace:
        _trace(context, outcome, machine=report != "text")
    if report != "json":
        tell_findings(outcome.findings, make_subject(source, outcome.document))
    if outcome.failed:
        context.exit(FAILED)


def _require_offers_alone(
    source: str, calibrate: Path | None, overrides: Mapping[str, str], *, whole: bool
) -> None:
    """Raise UsageError for an argument that is about one machine only."""
    if calibrate is not None or whole or source == "-":
        words = "--offers needs a spec in a file, and allows only --set and --format json."
        raise click.UsageError(words)
    if any(key.partition(".")[0] == "hardware" for key in overrides):
        raise click.UsageError("--offers names the hardware: leave it out of --set.")


def _rank(source: str, path: Path, overrides: Mapping[str, str], *, report: str) -> int:
    """Print what the run costs and takes on each offer; return the exit code."""
    from ftc.offers import find_mistakes, quote, read_offers  # noqa: PLC0415 - for --offers only
    from ftc.report.offers import offers_data, report_offers  # noqa: PLC0415 - for --offers only

    quotes = quote(source, read_offers(path), overrides)
    mistakes = find_mistakes(quotes)
    if report == "json":
        click.echo(dump(offers_data(quotes)))
    elif mistakes:
        tell_findings(mistakes, make_subject(source, quotes[0].outcome.document))
    else:
        click.echo(report_offers(quotes))
    return 0 if any(each.refusal is None for each in quotes) else FAILED


def _trace(context: click.Context, outcome: Outcome, *, machine: bool) -> None:
    """Print the trace: after the plan, or on standard error where the plan is for a machine."""
    facts = known(outcome.facts) if outcome.facts is not None else None
    if facts is None:
        return
    try:
        table = trace_backbone(facts.model.architecture)
    except TraceError as error:
        click.echo(f"error: {error}", err=True)
        context.exit(_ENVIRONMENT)
    click.echo(f"\nBytes that a layer keeps per token, traced and as planned\n{table}", err=machine)


def has_blocks() -> bool:
    """Whether standard output can show the bars' block elements."""
    try:
        "".join(blocks for blocks, _ in PARTS.values()).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
