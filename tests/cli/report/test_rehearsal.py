"""The table of a rehearsal: every stage, the reason for stopping, and no false claims."""

from pathlib import Path

from ftc.compiler.rehearse.stage import Failure, NotShown, Rehearsal, Stage
from ftc.report.rehearsal import rehearsal_data, report_rehearsal

STAGES = (
    Stage(name="compile", status="ok", seconds=1.04, result="14 files, 0 findings"),
    Stage(name="resume", status="not rehearsed", seconds=0.0, result="over before it was killed"),
    Stage(name="tokens", status="failed", seconds=2.0, result="3 of 5 rows differ"),
)
FAILURE = Failure(
    stage="tokens",
    cause="3 of 5 rows differ\nsee row 2",
    meaning="the GGUF would read other tokens",
    log=Path("/away/rehearsal.log"),
)
STOPPED = Rehearsal(
    name="triage",
    stages=STAGES,
    failure=FAILURE,
    unshown=(NotShown(what="bf16 kernels", instead="the first step shows them"),),
    findings=(),
    folder=None,
)


def test_text() -> None:
    """Cause, meaning and log stand below the table; what was not shown is never called ok."""
    text = report_rehearsal(STOPPED)
    lines = text.splitlines()
    assert lines[0] == "compile         1.0 s  ok             14 files, 0 findings"
    assert lines[1] == "resume          0.0 s  not rehearsed  over before it was killed"
    assert lines[3] == "in all          3.0 s"
    assert "stopped at tokens: the GGUF would read other tokens" in lines
    assert "  see row 2" in lines
    assert "full output: /away/rehearsal.log" in lines
    assert lines[-2].startswith("not rehearsed, ")
    assert lines[-1] == "  bf16 kernels; the first step shows them"


def test_text_after_what_was_seen_live() -> None:
    """On a terminal the lines of the stages stand there already."""
    assert report_rehearsal(STOPPED, seen=True).splitlines()[0] == "in all          3.0 s"


def test_data() -> None:
    """Nothing but data, and the same facts."""
    data = rehearsal_data(STOPPED)
    assert data["passed"] is False
    assert [stage["status"] for stage in data["stages"]] == ["ok", "not rehearsed", "failed"]
    assert data["failure"]["log"] == "/away/rehearsal.log"
    assert data["not_rehearsed"] == [
        {"what": "bf16 kernels", "instead": "the first step shows them"}
    ]
    assert data["folder"] is None
