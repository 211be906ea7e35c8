"""`ftc compile`: writes the bundle, or shows how the bundle on disk differs from its spec."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from ftc.commands import COMMANDS
from ftc.commands.options import (
    FAILED,
    calibrate_option,
    format_option,
    make_subject,
    output_option,
    spec_argument,
    tell_findings,
)
from ftc.compiler.pipeline import STAGES, Outcome, compile_bundle, drift, write
from ftc.compiler.render.extras import Extra
from ftc.compiler.render.pins import install_command
from ftc.compiler.write.bundle import Written
from ftc.compiler.write.conflict import Conflict
from ftc.compiler.write.disk import typed
from ftc.compiler.write.drift import Drift
from ftc.compiler.write.workflow import Workflow, is_address, make_workflow, write_workflow
from ftc.fix_patches import write_fixes
from ftc.report.json_output import VERSION, dump, list_findings
from ftc.spec.findings.quote import shell_word

_READMES: Final[Mapping[Extra, str]] = {"readme_ca": "ca", "readme_es": "es"}
_RUNTIME: Final = "runtime/"
_MARKS = {"created": "+", "replaced": "~", "removed": "-", "unchanged": " "}


@click.command(name="compile", short_help=COMMANDS["compile"])
@spec_argument
@output_option
@click.option(
    "--check",
    "checks",
    is_flag=True,
    help="Write nothing; exit with code 1 if the bundle differs from its spec.",
)
@click.option("--locked", is_flag=True, help="Take all facts from the lock file, or fail.")
@click.option("--update", is_flag=True, help="Resolve all facts again and list the changes.")
@click.option("--force", is_flag=True, help="Replace files that were edited by hand.")
@click.option(
    "--notebook/--no-notebook",
    default=None,
    help="Add or remove notebook.ipynb: the stages as cells, for Colab or Jupyter.",
)
@click.option(
    "--container/--no-container",
    default=None,
    help="Add or remove a Dockerfile of the locked packages and a devcontainer.",
)
@click.option(
    "--readme",
    "readmes",
    type=click.Choice(("ca", "es", "none")),
    multiple=True,
    help="Add a README in Catalan or Spanish beside the English one, or remove both.",
)
@click.option(
    "--workflow",
    metavar="URL@COMMIT",
    help="Also write a GitHub workflow that runs `ftc compile --check`, with ftc from this git "
    "address and commit.",
)
@calibrate_option
@click.option(
    "--stop-after",
    type=click.Choice(STAGES),
    help="Stop after this stage; only `write` writes files.",
)
@format_option("what was done")
@click.pass_context
def command(
    context: click.Context,
    *,
    source: str,
    output: Path | None,
    checks: bool,
    locked: bool,
    update: bool,
    force: bool,
    notebook: bool | None,
    container: bool | None,
    readmes: tuple[str, ...],
    workflow: str | None,
    calibrate: Path | None,
    stop_after: str | None,
    report: str,
) -> None:
    """Write the bundle: plain scripts that run without ftc.

    SPEC is a file in JSON or YAML, or - for standard input.
    """
    asked = (notebook, container, workflow, readmes) != (None, None, None, ())
    if checks and (locked or update or force or stop_after or calibrate or asked):
        raise click.UsageError("--check is always locked and writes nothing: give it alone.")
    if workflow is not None:
        _refuse_workflow(source, workflow, stop_after)
    if "none" in readmes and len(readmes) > 1:
        raise click.UsageError("--readme none removes both: give it alone.")
    if locked and update:
        raise click.UsageError("--locked and --update contradict each other.")
    if locked and calibrate:
        raise click.UsageError("--locked and --calibrate contradict each other.")
    if checks:
        context.exit(FAILED if _check(source, output, report=report) else 0)
    outcome, written = Outcome(), None
    try:
        outcome = compile_bundle(
            source,
            output=output,
            locked=locked,
            update=update,
            stop_after=stop_after,
            calibrate=calibrate,
            extras=_wanted(notebook, container, readmes),
        )
        _tell(source, outcome, report=report)
        if not outcome.failed and stop_after in {None, "write"}:
            added = _plan_workflow(source, outcome, workflow)
            written = write(outcome, force=force)
            if added is not None:
                click.echo(f"wrote {typed(write_workflow(added))}", err=True)
    except Conflict as conflict:
        if report != "json":
            tell_findings(conflict.findings, make_subject(_name(outcome), None))
        outcome = replace(outcome, findings=(*outcome.findings, *conflict.findings))
    click.echo(dump(_data(outcome, written)) if report == "json" else _text(outcome, written))
    if outcome.failed:
        context.exit(FAILED)


def _refuse_workflow(source: str, address: str, stop_after: str | None) -> None:
    """Raise UsageError if the options allow no workflow, or if its address names no commit."""
    if source == "-" or stop_after not in {None, "write"}:
        raise click.UsageError("--workflow needs a spec in a file, and a bundle that is written.")
    if not is_address(address):
        raise click.BadParameter(
            f"{address!r} is no git address with a commit: write https://HOST/OWNER/ftc@COMMIT",
            param_hint="--workflow",
        )


def _plan_workflow(source: str, outcome: Outcome, address: str | None) -> Workflow | None:
    """Return the requested workflow; nothing is written if it is impossible."""
    if address is None or outcome.spec is None or outcome.folder is None:
        return None
    return make_workflow(
        name=outcome.spec.name, spec=Path(source), bundle=outcome.folder, source=address
    )


def _wanted(
    notebook: bool | None, container: bool | None, readmes: tuple[str, ...]
) -> dict[Extra, bool]:
    """Return which optional files are wanted or not; the others stay unchanged."""
    asked: dict[Extra, bool | None] = {"notebook": notebook, "image": container}
    for extra, language in _READMES.items():
        asked[extra] = True if language in readmes else False if "none" in readmes else None
    return {extra: said for extra, said in asked.items() if said is not None}


def _check(source: str, output: Path | None, *, report: str) -> bool:
    """Print how the bundle differs from its spec; return whether anything is wrong."""
    outcome, drifts = drift(source, output=output)
    _tell(source, outcome, report=report)
    if report == "json":
        click.echo(dump({**_data(outcome, None), "drift": [_drift_data(one) for one in drifts]}))
    else:
        for one in drifts:
            click.echo(one.diff, nl=False)
        tell_findings((one.finding for one in drifts), make_subject(_name(outcome), None))
        if not drifts and not outcome.failed:
            click.echo(f"{_name(outcome)} is what {source} compiles to")
    return outcome.failed or bool(drifts)


def _tell(source: str, outcome: Outcome, *, report: str) -> None:
    """Print findings and changes since the lock on stderr; JSON output contains both."""
    if report == "json":
        return
    tell_findings(outcome.findings, make_subject(source, outcome.document))
    for sentence in outcome.moved:
        click.echo(f"changed: {sentence}", err=True)


def _name(outcome: Outcome) -> str:
    """Return the bundle's folder as a user would type it, with a slash at its end."""
    if outcome.folder is None:
        return "the bundle"
    return f"{typed(outcome.folder)}/"


def _text(outcome: Outcome, written: Written | None) -> str:
    """Return the changed files, grouped by their change, and the next commands.

    The many files of `runtime/` are one line per kind of change.
    """
    if outcome.failed:
        return "nothing was written"
    name = _name(outcome)
    if written is None:
        names = (f"    {file.name}" for file in sorted(outcome.files, key=lambda file: file.name))
        return "\n".join([f"{name} is unchanged", *names])
    became = {file: word for word in _MARKS for file in getattr(written, word)}
    changed = sum(word != "unchanged" for word in became.values())
    lines = [f"{name}  {changed} of {len(became)} files changed"]
    alike = Counter(
        (_RUNTIME if file.startswith(_RUNTIME) else file, word)
        for file, word in became.items()
        if word != "unchanged"
    )
    for (file, word), count in sorted(alike.items()):
        many = f"  {count} files" if file == _RUNTIME else ""
        lines.append(f"  {_MARKS[word]} {file}{many}")
    lines += ["", "next:", *(f"  {line}" for line in _next(name, outcome))]
    if (copying := _copy(outcome)) is not None:
        lines += ["to run it on HOST instead, copy what it reads with it:", f"  {copying}"]
    return "\n".join(lines)


def _copy(outcome: Outcome) -> str | None:
    """Return the command that copies a bundle with the files outside of it that it reads, or None.

    Their places beside each other stay the same, so the paths in the bundle hold there too.
    """
    launcher = outcome.spec.launch.type if outcome.spec else "local"
    if outcome.folder is None or not outcome.outside or launcher != "local":
        return None
    bundle = Path(os.path.abspath(outcome.folder))  # noqa: PTH100 - keeps links
    read = {os.path.normpath(bundle / path) for path in outcome.outside}
    common = os.path.commonpath([bundle.parent, *(Path(path).parent for path in read)])
    inside = [os.path.relpath(path, common) for path in (str(bundle), *sorted(read))]
    said = " ".join(map(shell_word, [f"{inside[0]}/", *inside[1:]]))
    return f"tar -C {shell_word(typed(Path(common)))} -cz {said} | ssh HOST tar -xz"


def _next(folder: str, outcome: Outcome) -> tuple[str, ...]:
    """Return the commands that start the run, by launcher."""
    wanted = next((file.text for file in outcome.files if file.name == "requirements.txt"), "")
    install = install_command(f"{folder}requirements.txt", wanted)
    launcher = outcome.spec.launch.type if outcome.spec else "local"
    match launcher:
        case "slurm":
            return (install, f"cd {shell_word(folder)} && sbatch slurm.sh")
        case "kubernetes":
            return (f"kubectl create -f {shell_word(f'{folder}k8s.yaml')}",)
        case "skypilot":
            return (f"cd {shell_word(folder)} && sky jobs launch sky.yaml",)
        case "local":
            return (install, shell_word(f"{folder}run.sh"))


def _data(outcome: Outcome, written: Written | None) -> Mapping[str, Any]:
    """Return the result as plain data; `files` is null if nothing was written."""
    files = {word: list(getattr(written, word)) for word in _MARKS} if written else None
    return {
        "version": VERSION,
        "folder": outcome.folder.as_posix() if outcome.folder else None,
        "files": files,
        "moved": list(outcome.moved),
        "findings": list_findings(write_fixes(outcome.findings, outcome.document)),
    }


def _drift_data(one: Drift) -> Mapping[str, str]:
    return {"name": one.name, "kind": one.kind, "diff": one.diff, "message": one.finding.message}
