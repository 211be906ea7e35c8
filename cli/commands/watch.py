"""`ftc watch`: a run, live or after the fact, from the files that its scripts write."""

import shutil
import sys
import time
from pathlib import Path

import click

from ftc.commands import COMMANDS
from ftc.commands.options import can_draw, format_option
from ftc.report.json_output import dump
from ftc.report.watch import runs_data
from ftc.tui.languages.voice import Voice, find_language
from ftc.tui.watch.plain import follow
from ftc.tui.watch.run import Watched


@click.command(name="watch", short_help=COMMANDS["watch"])
@click.argument(
    "bundles", metavar="BUNDLE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--plain", is_flag=True, help="Print lines, without a full screen.")
@click.option("--once", is_flag=True, help="Print the present state and exit.")
@format_option("the state")
def command(bundles: tuple[Path, ...], *, plain: bool, once: bool, report: str) -> None:
    """Show a running or finished run, from the files that it writes.

    It shows stage, step, loss, speed, memory and time left beside the plan, the load of NVIDIA GPUs
    on this machine, and the last lines that the run printed. BUNDLE is a folder with a run.sh;
    several can be given. To watch a run on another machine, call this there over ssh. Closing it
    does not affect the run.

    \b
    s       smooth the curve more, or not at all
    a h n   show all steps, the last half, or the last 100
    + -     zoom in and out; the arrows move the part that is shown
    o       show the printed lines in place of the curve
    q       leave
    """  # noqa: D301 - click reads the escape
    if report == "json":
        runs = tuple(Watched(bundle).look(time.time()) for bundle in bundles)
        click.echo(dump(runs_data(runs)))
    elif plain or once or not can_draw():
        columns = shutil.get_terminal_size((100, 24)).columns
        voice = Voice(language=find_language())
        follow(bundles, sys.stdout, columns=min(columns, 110), once=once, voice=voice)
    else:
        from ftc.tui.watch.app import Watch  # noqa: PLC0415 - Textual is slow to import

        watched = tuple(Watched(bundle) for bundle in bundles)
        runs = tuple(each.look(time.time()) for each in watched)
        Watch(watched, runs, voice=Voice(language=find_language())).run()
