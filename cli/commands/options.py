"""The arguments that several commands share, and how a command ends."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from ftc.report.subject import Subject
from ftc.report.text import report_text
from ftc.spec.findings.finding import Finding
from ftc.spec.text.document import Document

FAILED: Final = 1
Callback = TypeVar("Callback", bound=Callable[..., Any])
_MOST_LETTERS: Final = 1_000_000

spec_argument = click.argument(
    "source",
    metavar="SPEC",
    type=click.Path(allow_dash=True, readable=False, path_type=str),
)

output_option = click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="The bundle's folder (default: one named like the spec, beside it; a bundle's own spec "
    "compiles to that bundle).",
)


set_option = click.option(
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    callback=lambda _context, _option, items: dict(map(_split, items)),
    help='Try another value, e.g. --set hardware="1x RTX-4090"; the file does not change.',
)


calibrate_option = click.option(
    "--calibrate",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Scale memory and time by the pilot.json that `./run.sh --pilot` wrote on this hardware.",
)


def _split(item: str) -> tuple[str, str]:
    key, equals, value = item.partition("=")
    if not equals or not all(key.split(".")):
        raise click.BadParameter(f"{item!r} is not KEY=VALUE", param_hint="--set")
    return key, value


def format_option(what: str) -> Callable[[Callback], Callback]:
    """Return the option of a command whose product is text for people or JSON for programs."""
    return click.option(
        "--format",
        "report",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help=f"How to print {what}.",
    )


def make_subject(source: str, document: Document | None) -> Subject:
    """Return the subject of the findings: its name as the user wrote it, and its text.

    A file that is no document (a comma too many) still has lines to show.
    """
    overridden = document.overridden if document is not None else frozenset()
    if source == "-":
        text = document.text if document is not None else None
        return Subject(name="<stdin>", text=text, overridden=overridden)
    text = document.text if document else _read_text(Path(source))
    return Subject(name=source, text=text, overridden=overridden)


def _read_text(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read(_MOST_LETTERS)
    except (OSError, ValueError):
        return None


def tell_findings(findings: Iterable[Finding], subject: Subject) -> None:
    """Print findings on stderr if the command's output is something else."""
    text = report_text(tuple(findings), subject=subject, colour=wants_colour(sys.stderr.isatty()))
    if text:
        click.echo(text, err=True)


def wants_colour(is_terminal: bool) -> bool:
    """Return whether to use colours: on a terminal that is not dumb, without NO_COLOR."""
    return is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def can_draw() -> bool:
    """Whether a screen can be drawn: a terminal at every end, and not a dumb one.

    Textual draws on stderr; a driver that was named draws where it likes.
    """
    if os.environ.get("TEXTUAL_DRIVER"):
        return True
    ends = (sys.stdin, sys.stdout, sys.stderr)
    return all(end.isatty() for end in ends) and os.environ.get("TERM") != "dumb"
