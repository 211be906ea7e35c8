"""`ftc sweep`: a bundle for each combination of values, and scripts that run them all."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ftc.commands import COMMANDS
from ftc.commands.options import FAILED, format_option, make_subject, spec_argument, tell_findings
from ftc.compiler.render.pins import install_command
from ftc.compiler.write.conflict import Conflict
from ftc.compiler.write.disk import typed
from ftc.report.json_output import VERSION, dump, list_findings
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import shell_word
from ftc.sweeping import (
    ARRAY,
    RUN_ALL,
    BadGridError,
    Point,
    compile_points,
    list_requirements,
    read_grid,
    total_disk,
    write_points,
)

_HOUR, _GB = 3600, 10**9


@click.command(name="sweep", short_help=COMMANDS["sweep"])
@spec_argument
@click.option(
    "--set",
    "settings",
    metavar="KEY=A,B",
    multiple=True,
    required=True,
    help="The values of a field, e.g. --set training.learning_rate=1e-4,2e-4; repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="The sweep's folder (default: one named sweep, beside the spec).",
)
@format_option("the points")
@click.pass_context
def command(
    context: click.Context,
    *,
    source: str,
    settings: tuple[str, ...],
    output: Path | None,
    report: str,
) -> None:
    """Write one bundle for each combination of values, and scripts that run them.

    SPEC is a file in JSON or YAML. Each point has a spec and a lock of its own. `run_all.sh` runs
    them one after another and ends with `ftc compare`; a spec for Slurm also gets an array.
    """
    if source == "-":
        raise click.UsageError("a sweep reads its spec from a file.")
    try:
        grid = read_grid(settings)
    except BadGridError as error:
        raise click.BadParameter(str(error), param_hint="--set") from None
    folder = output if output is not None else Path(source).parent / "sweep"
    points = compile_points(source, grid, folder)
    failed = [point for point in points if point.outcome.failed]
    written: tuple[str, ...] = ()
    conflicts: tuple[Finding, ...] = ()
    if not failed:
        try:
            written = write_points(folder, points)
        except Conflict as conflict:
            conflicts = conflict.findings
    if report == "json":
        click.echo(dump(_data(folder, points, written, conflicts)))
    elif conflicts:
        tell_findings(conflicts, make_subject(typed(folder), None))
    else:
        _tell(source, points, failed)
        click.echo(_text(folder, points, written) if written else "nothing was written")
    if failed or conflicts:
        context.exit(FAILED)


def _tell(source: str, points: Sequence[Point], failed: Sequence[Point]) -> None:
    """Print the errors that all points share, then each point's own.

    Without any error the findings of the first point stand for all.
    """
    subject = make_subject(source, points[0].outcome.document)
    if not failed:
        tell_findings(points[0].outcome.findings, subject)
        return
    shared = set.intersection(*(set(_errors(point)) for point in points))
    tell_findings([_errors(points[0])[each] for each in sorted(shared)], subject)
    for point in failed:
        own = [found for each, found in _errors(point).items() if each not in shared]
        if own:
            values = " ".join(f"{key}={value}" for key, value in point.values.items())
            click.echo(f"{point.folder}: {values}", err=True)
            tell_findings(own, make_subject(source, point.outcome.document))


def _errors(point: Point) -> dict[tuple[str, str], Finding]:
    found = [each for each in point.outcome.findings if each.severity == "error"]
    return {(each.code, each.message): each for each in found}


def _text(folder: Path, points: Sequence[Point], written: Sequence[str]) -> str:
    """Return the points with what each takes, the totals, and what comes next."""
    keys = list(points[0].values)
    rows = [["point", *keys, "hours", "disk", "cost"]]
    rows += [[point.folder, *point.values.values(), *_takes([point])] for point in points]
    rows.append(["total", *("" for _ in keys), *_takes(points)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    name = typed(folder)
    following = (f"  {line}" for line in _next(name, points, written))
    return "\n".join([*lines, "", f"wrote {name}/", "next:", *following])


def _next(name: str, points: Sequence[Point], written: Sequence[str]) -> Iterator[str]:
    """Yield the commands that run the points, by what starts them, and that compare them."""
    spec = points[0].outcome.spec
    launcher = spec.launch.type if spec is not None else "local"
    if launcher in ("local", "slurm"):
        for text, path in list_requirements(points).items():
            yield install_command(f"{name}/{path}", text)
    if launcher == "local":
        yield shell_word(f"{name}/{RUN_ALL}")
        return
    start = {
        "slurm": "sbatch slurm.sh",
        "kubernetes": "kubectl create -f k8s.yaml",
        "skypilot": "sky jobs launch sky.yaml",
    }[launcher]
    if ARRAY in written:
        yield f"cd {shell_word(name)} && sbatch {ARRAY}"
    else:
        yield f'for point in {shell_word(name)}/point-*/; do (cd "$point" && {start}); done'
    yield f"ftc compare {shell_word(name)}/point-*/"


def _takes(points: Sequence[Point]) -> list[str]:
    """Return hours, disk and cost; "-" where one of the points does not know it."""
    seconds = [point.seconds for point in points]
    costs = [point.cost for point in points]
    known = [each for each in seconds if each is not None]
    paid = [each for each in costs if each is not None]
    return [
        f"{sum(known) / _HOUR:.2f}" if len(known) == len(points) else "-",
        f"{total_disk(points) / _GB:.1f} GB",
        f"{sum(paid):.2f}" if len(paid) == len(points) else "-",
    ]


def _data(
    folder: Path,
    points: Sequence[Point],
    written: Sequence[str],
    conflicts: tuple[Finding, ...],
) -> Mapping[str, Any]:
    """Return the points as plain data; `files` is null where nothing was written.

    `findings` say why, where files of the folder are not those of a sweep.
    """
    times, costs = [each.seconds for each in points], [each.cost for each in points]
    known = [each for each in times if each is not None]
    paid = [each for each in costs if each is not None]
    return {
        "version": VERSION,
        "folder": folder.as_posix(),
        "files": list(written) or None,
        "findings": list_findings(conflicts),
        "points": [
            {
                "folder": point.folder,
                "values": dict(point.values),
                "seconds": point.seconds,
                "disk_bytes": point.disk_bytes,
                "cost": point.cost,
                "findings": list_findings(point.outcome.findings),
            }
            for point in points
        ],
        "total": {
            "seconds": sum(known) if len(known) == len(points) else None,
            "disk_bytes": total_disk(points),
            "cost": sum(paid) if len(paid) == len(points) else None,
        },
    }
