"""`ftc new`: a starter spec from flags."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from ftc.commands import COMMANDS
from ftc.commands.options import FAILED, make_subject, tell_findings
from ftc.compiler.pipeline import check
from ftc.compiler.plan.summary.headline import headline
from ftc.report.json_output import dump
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.findings.quote import shell_word
from ftc.spec.schema import read_schema

_FILE: Final = "spec.json"
_MODEL: Final = "HuggingFaceTB/SmolLM2-360M-Instruct"
_DATA: Final = "data.csv"
_SCHEMA: Final = "./.vscode/ftc.schema.json"  # as VS Code reads it, from the folder that is open


@click.command(name="new", short_help=COMMANDS["new"])
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--name", help="The name of the run (default: the name of the folder).")
@click.option("--model", default=_MODEL, show_default=True, help="A Hub id or a folder.")
@click.option("--data", default=_DATA, show_default=True, help="A file, or a Hub data set.")
@click.option(
    "--hardware",
    default="auto",
    show_default=True,
    help='The GPUs, such as "2x A100-80GB", or cpu.',
)
@click.option("--method", default="lora", show_default=True, help="One of full, lora and qlora.")
@click.option("--export", "exports", multiple=True, help="A GGUF type, such as Q4_K_M; repeatable.")
@click.option("--vscode", is_flag=True, help="Configure VS Code to complete and check the spec.")
@click.pass_context
def command(
    context: click.Context,
    *,
    folder: Path,
    name: str | None,
    model: str,
    data: str,
    hardware: str,
    method: str,
    exports: tuple[str, ...],
    vscode: bool,
) -> None:
    """Write a starter spec from flags, without questions.

    It writes DIR/spec.json, by default in the current folder, and never replaces a file. Paths of
    --model and --data are relative to the current folder. It prints the first line of the plan.
    """
    spec = {
        "name": name or _slug(folder.resolve().name),
        "model": _seen_from(folder, model),
        "data": _seen_from(folder, data),
        "hardware": hardware,
        "method": method,
        **({"export": list(exports)} if exports else {}),
    }
    path = folder / _FILE
    was_there = folder.exists()
    _create(path, spec, help="name another folder, as in `ftc new triage`")
    outcome = check(str(path))
    tell_findings(outcome.findings, make_subject(str(path), outcome.document))
    if outcome.spec is None:
        path.unlink()
        if not was_there:
            folder.rmdir()
        click.echo(f"{path.as_posix()} was not written: correct the options", err=True)
        context.exit(FAILED)
    click.echo(f"wrote {path.as_posix()}")
    if vscode:
        _set_up_vscode(folder)
    if outcome.plan is not None:
        click.echo(headline(outcome.spec.name, outcome.plan))
    click.echo(f"next: ftc compile {shell_word(path.as_posix())}")


def _set_up_vscode(folder: Path) -> None:
    """Write the schema and settings that name it; settings that are there are left alone."""
    settings = {"json.schemas": [{"fileMatch": ["spec.json", "*.spec.json"], "url": _SCHEMA}]}
    schema, path = folder / _SCHEMA, folder / ".vscode" / "settings.json"
    if schema.exists():
        schema.unlink()
    _create(schema, read_schema(), help="make room for it")
    if path.exists():
        click.echo(f"{path.as_posix()} is there already, and was left alone; add to it:")
        click.echo(dump(settings))
        return
    _create(path, settings, help="make room for it")
    click.echo(f"wrote {path.as_posix()}")


def _create(path: Path, spec: Mapping[str, Any], *, help: str) -> None:  # noqa: A002
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(dump(spec) + "\n")
    except FileExistsError:
        folder = path.parent
        taken = f"{path.as_posix()} is there already" if folder.is_dir() else f"{folder} is a file"
        raise EnvironmentFailure(
            message=f"{taken}, and was left alone",
            help=help,
        ) from None
    except OSError as error:
        raise EnvironmentFailure(
            message=f"{path.as_posix()} cannot be written: {(error.strerror or '').lower()}",
            help="name a folder that you can write to",
        ) from error


def _slug(text: str) -> str:
    """Return a name that the schema takes, from a folder's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].strip("-") or "fine-tune"


def _seen_from(folder: Path, text: str) -> str:
    """Return a path that exists from here as a path from `folder`; any other word as it is."""
    path = Path(text).expanduser()
    if not text or path.is_absolute() or not path.exists():
        return text
    return Path(os.path.relpath(path, folder)).as_posix()
