"""`ftc schema`: the JSON Schema of specs, for editors and other tools."""

import click

from ftc.commands import COMMANDS
from ftc.report.json_output import dump
from ftc.spec.schema import read_schema


@click.command(name="schema", short_help=COMMANDS["schema"])
def command() -> None:
    """Print the JSON Schema of specs.

    For an editor: `ftc schema > spec.schema.json`, then `"$schema": "spec.schema.json"`.
    """
    click.echo(dump(read_schema()))
