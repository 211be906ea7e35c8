"""`ftc doctor`: what this machine has, ending in a `hardware` section ready to paste."""

from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.machine import machine_data, read_machine, report_machine
from ftc.report.machine import VERSION, dump


@click.command(name="doctor", short_help=COMMANDS["doctor"])
@click.option(
    "--format",
    "report",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the machine.",
)
def command(report: str) -> None:
    """Show what this machine has, as a `hardware` section ready to paste.

    GPUs of one model that nobody uses are counted; those that are left out are named.
    """
    machine = read_machine(Path.cwd())
    if report == "json":
        click.echo(dump({"version": VERSION, **machine_data(machine)}))
    else:
        click.echo(report_machine(machine))
