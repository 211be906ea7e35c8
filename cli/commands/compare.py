"""`ftc compare`: the differences between runs, and whether one is better than another."""

from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.comparison import read_results
from ftc.report.comparison import comparison_data, draw_curves, report_comparison
from ftc.report.json_output import dump

_FEWEST = 2


@click.command(name="compare", short_help=COMMANDS["compare"])
@click.argument(
    "bundles", metavar="BUNDLE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--format",
    "report",
    type=click.Choice(["text", "json", "svg"]),
    default="text",
    show_default=True,
    help="How to print the comparison; svg draws the curves of all runs.",
)
def command(bundles: tuple[Path, ...], *, report: str) -> None:
    """Show where runs differ, and whether one is better than another.

    BUNDLE is a folder with a run.sh; at least two are given. Each is compared with the first, on
    the test rows that both answered. Only files are read.
    """
    if len(bundles) < _FEWEST:
        raise click.UsageError("Give at least two bundles.")
    if len({bundle.resolve() for bundle in bundles}) < len(bundles):
        raise click.UsageError("A bundle is given twice.")
    results = read_results(bundles)
    if report == "json":
        click.echo(dump(comparison_data(results)))
    elif report == "svg":
        click.echo(draw_curves(results))
    else:
        click.echo(report_comparison(results))
