"""`ftc doctor`: this machine's hardware, as a `hardware` section ready to paste."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.commands.options import format_option
from ftc.compiler.render.pins import PINS
from ftc.machine import machine_data, read_machine, report_machine
from ftc.report.json_output import VERSION, dump


@click.command(name="doctor", short_help=COMMANDS["doctor"])
@format_option("the machine")
def command(report: str) -> None:
    """Show this machine's hardware as a `hardware` section for a spec.

    It counts the unused GPUs of one model and names the GPUs that it leaves out. It also compares
    the installed packages with the versions that bundles are pinned to.
    """
    machine, packages = read_machine(Path.cwd()), _packages()
    if report == "json":
        click.echo(dump({"version": VERSION, **machine_data(machine), "packages": packages}))
    else:
        click.echo(_compare(packages))
        click.echo(report_machine(machine))


def _packages() -> Mapping[str, Mapping[str, str | None]]:
    """Return each pinned package with its pin and the version that is installed, if any."""
    return {name: {"pinned": pin, "installed": _installed(name)} for name, pin in PINS.items()}


def _installed(name: str) -> str | None:
    try:
        return version(name).partition("+")[0]  # a build tag is not part of the version
    except PackageNotFoundError:
        return None


def _compare(packages: Mapping[str, Mapping[str, str | None]]) -> str:
    """Return a line on whether the installed packages match the pins of a bundle."""
    missing = [name for name, each in packages.items() if each["installed"] is None]
    other = [
        f"{name} {each['installed']} (pinned {each['pinned']})"
        for name, each in packages.items()
        if each["installed"] not in (None, each["pinned"])
    ]
    if not (missing or other):
        return "packages: every one that bundles are pinned to is installed at its pin"
    if len(missing) == len(packages):
        return "packages: none that bundles need are installed here; each bundle has its list"
    told = [*([f"missing {', '.join(missing)}"] if missing else []), *other]
    return f"packages: {'; '.join(told)}; a bundle's own list brings its pins"
