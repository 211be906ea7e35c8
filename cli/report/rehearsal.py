"""A rehearsal as a table for people, and as plain data."""

from collections.abc import Iterator, Mapping
from typing import Any

from ftc.compiler.rehearse.stage import Rehearsal, Stage
from ftc.report.json_output import VERSION, list_findings


def rehearsal_data(rehearsal: Rehearsal) -> Mapping[str, Any]:
    """Return the rehearsal as plain data; `failure` is null where everything went well."""
    failure = rehearsal.failure
    return {
        "version": VERSION,
        "name": rehearsal.name,
        "passed": failure is None,
        "stages": [
            {
                "name": stage.name,
                "status": stage.status,
                "seconds": round(stage.seconds, 1),
                "result": stage.result,
            }
            for stage in rehearsal.stages
        ],
        "failure": None
        if failure is None
        else {
            "stage": failure.stage,
            "cause": failure.cause,
            "meaning": failure.meaning,
            "log": str(failure.log) if failure.log is not None else None,
        },
        "not_rehearsed": [{"what": one.what, "instead": one.instead} for one in rehearsal.unshown],
        "folder": str(rehearsal.folder) if rehearsal.folder is not None else None,
        "findings": list_findings(rehearsal.findings),
    }


def report_rehearsal(rehearsal: Rehearsal, *, seen: bool = False) -> str:
    """Return the table of stages, why it stopped, and what it could not show.

    `seen`: the lines of the stages stand above already.
    """
    lines = [] if seen else [report_stage(stage) for stage in rehearsal.stages]
    total = sum(stage.seconds for stage in rehearsal.stages)
    lines.append(f"{'in all':12} {total:>6.1f} s")
    lines += _failure(rehearsal)
    if rehearsal.unshown:
        lines += ["", "not rehearsed, since a CPU and a miniature cannot show it:"]
        lines += [f"  {one.what}; {one.instead}" for one in rehearsal.unshown]
    if rehearsal.folder is not None:
        lines += ["", f"kept in {rehearsal.folder}"]
    return "\n".join(lines)


def report_stage(stage: Stage) -> str:
    """Return the line of one stage."""
    return f"{stage.name:12} {stage.seconds:>6.1f} s  {stage.status:14} {stage.result}".rstrip()


def _failure(rehearsal: Rehearsal) -> Iterator[str]:
    failure = rehearsal.failure
    if failure is None:
        return
    yield ""
    yield f"stopped at {failure.stage}: {failure.meaning}"
    yield from (f"  {line}" for line in failure.cause.splitlines())
    if failure.log is not None:
        yield f"full output: {failure.log}"
