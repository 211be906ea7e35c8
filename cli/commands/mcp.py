"""`ftc mcp`: the commands as tools for an agent, by the Model Context Protocol on stdio.

A tool is a command with `--format json`, run as a separate process: an agent gets what a user
gets, and nothing that a tool prints can disturb the protocol. https://modelcontextprotocol.io
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from ftc import __version__
from ftc.commands import COMMANDS
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.schema import read_schema

_INSTRUCTIONS: Final = (
    "ftc compiles a fine-tune, described in a JSON spec, to scripts that train, evaluate and "
    "quantize. Order of work: list_models for the hardware and data; new_spec; edit the spec "
    "by its schema (resource ftc://schema.json); check until it has no errors; plan, with "
    "`changes` to try others; compile_bundle. No tool trains: the user runs the bundle's run.sh, "
    "and read_run shows it. Paths are relative to the server's folder."
)
_SECONDS: Final = 600
_DONE: Final = (0, 1)  # 1: the findings say what is wrong


@click.command(name="mcp", short_help=COMMANDS["mcp"])
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="The folder of all relative paths; nothing is written outside of it.",
)
def command(folder: Path) -> None:
    """Serve the commands to an agent, by the Model Context Protocol.

    Its tools check and plan specs, list models, explain findings, write specs and bundles, and read
    runs. None of them trains, and none replaces a file unless the call confirms it. It needs the
    extra `mcp`.
    """
    try:
        from mcp.server import MCPServer  # noqa: PLC0415 - an extra
    except ImportError:
        raise EnvironmentFailure(
            message="the package mcp is not installed",
            help='install ftc with its extra: `pip install ".[mcp]"` in its folder',
        ) from None
    server: Any = MCPServer(
        "ftc", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    os.chdir(folder)
    for tool in TOOLS:
        server.tool()(tool)
    server.resource("ftc://schema.json", mime_type="application/json")(_schema)
    server.run("stdio")


def _schema() -> str:
    """Return the JSON Schema of specs."""
    return json.dumps(read_schema(), ensure_ascii=False)


def check(*, spec: str) -> dict[str, Any]:
    """List everything that is wrong with a spec: code, message, help, place and fix."""
    return _call("check", "--format", "json", "--", spec)


def plan(*, spec: str, changes: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Predict memory, batch, steps, time, disk and cost, with alternatives.

    `changes` tries other values without writing them, such as
    {"hardware": "1x RTX-4090", "method.rank": "32"}.
    """
    tried = [part for key, value in (changes or {}).items() for part in ("--set", f"{key}={value}")]
    return _call("plan", "--format", "json", *tried, "--", spec)


def list_models(
    *,
    hardware: str | None = None,
    data: str | None = None,
    names: Sequence[str] = (),
    licence: str | None = None,
    short: bool = True,
) -> dict[str, Any]:
    """List well-known models with the memory and time of training them.

    `hardware` is such as "2x A100-80GB" or "cpu", `data` a file. `names` are parts of ids; with
    them each method and the longest rows are there too. `short` chooses four at most.
    """
    options = {"--hardware": hardware, "--data": data, "--license": licence}
    said = [part for name, value in options.items() if value for part in (name, value)]
    brief = ["--short"] if short and not names else []
    return _call("models", "--format", "json", *said, *brief, "--", *names)


def explain(*, topic: str) -> dict[str, Any]:
    """Explain the code of a finding (FTC125), a field of the spec (method.rank), or a term."""
    return _call("explain", "--format", "json", "--", topic)


def new_spec(
    *,
    place: str,
    data: str,
    model: str,
    hardware: str = "auto",
    method: str = "lora",
    exports: Sequence[str] = (),
) -> dict[str, Any]:
    """Write PLACE/spec.json, never over a file; the result is that of `check`.

    `place` is a folder; `data` a file or a Hub data set; `model` a Hub id or a folder; `method`
    full, lora or qlora; `exports` GGUF types such as Q4_K_M.
    """
    _require_inside(place)
    types = [part for name in exports for part in ("--export", name)]
    said = ("--data", data, "--model", model, "--hardware", hardware, "--method", method)
    _run("new", *said, *types, "--", place)
    written = {"spec": (Path(place) / "spec.json").as_posix()}
    return {**written, **_call("check", "--format", "json", "--", written["spec"])}


def compile_bundle(*, spec: str, bundle: str, confirm_overwrite: bool = False) -> dict[str, Any]:
    """Write the bundle of a spec without errors into the folder `bundle`.

    A folder that is there already is written to only with `confirm_overwrite`, after the user
    agreed. Files that were edited by hand are never replaced.
    """
    place = _require_inside(bundle)
    if place.exists() and not confirm_overwrite:
        raise _error(
            f"{bundle} is there already: ask the user, then pass confirm_overwrite, or name a "
            "new folder"
        )
    return _call("compile", "--format", "json", "--output", bundle, "--", spec)


def read_run(*, bundle: str) -> dict[str, Any]:
    """Read a running or finished run: stage, step, losses, memory, time left, warnings."""
    return _call("watch", "--format", "json", "--", bundle)


TOOLS: Final[Sequence[Callable[..., dict[str, Any]]]] = (
    check,
    plan,
    list_models,
    explain,
    new_spec,
    compile_bundle,
    read_run,
)


def _require_inside(place: str) -> Path:
    """Return a place to write to; one outside of the server's folder is refused."""
    folder, path = Path.cwd(), Path(place).resolve()
    if not path.is_relative_to(folder):
        raise _error(f"{place} is outside of {folder}, where this server writes")
    return path


def _call(*arguments: str) -> dict[str, Any]:
    """Return the JSON of a command."""
    found: dict[str, Any] = json.loads(_run(*arguments))
    return found


def _run(*arguments: str) -> str:
    """Return what a command prints; what it says where it fails becomes the tool's error."""
    done = subprocess.run(
        [sys.executable, "-m", "ftc", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode not in _DONE or not done.stdout.strip():
        raise _error(done.stderr.strip() or f"ftc exited with code {done.returncode}")
    return done.stdout


def _error(sentence: str) -> Exception:
    """Return the exception whose text the agent gets."""
    from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415 - an extra

    error: Exception = ToolError(sentence)
    return error
