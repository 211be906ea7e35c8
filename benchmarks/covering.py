"""Run every case of the covering array on this machine, and write a report.

    python -m benchmarks.covering                # all of them, into benchmarks/covering.md
    python -m benchmarks.covering RESULTS.xml... # only the report, from pytest's XML files

The cases are those of tests/covering.py; each is a whole bundle, started by its own `run.sh`. If
several files have a case, the last one counts. Exits 1 if a case failed.
"""

import argparse
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.rehearsals import describe_machine
from tests.covering import Case, running

ROOT: Final = Path(__file__).parents[1]
REPORT: Final = Path(__file__).with_name("covering.md")
TEST: Final = "tests/end_to_end/whole/test_covering.py"
COLUMNS: Final = (
    *("objective", "form", "method", "sharding", "packing", "optimizer", "format", "export"),
    "vectors",
)
_HEAD: Final = """\
# Pairwise combinations of options

{command} {machine}

A pairwise array over objective, form of rows, method, sharding, device, precision, packing,
optimizer, file format, export and vectors (of one size or several, or with hard negatives). Every
pair of options that no rule rejects occurs in at least one case. Each case is a whole bundle in
miniature on a CPU: a Llama with 2.6 million random weights, 60 rows, 6 steps, and all stages of its
`run.sh` with every post-condition. All cases except `single` use two processes. Cases that differ
only in device or precision are merged, because a CPU only has fp32; `make prove` loads their
configs in the libraries' own classes.

{passed} of {count} passed. The times were measured on a shared machine.

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a case, and why it failed if it did."""

    case: Case
    seconds: float
    failure: str | None


def read_outcomes(path: Path) -> Iterator[Outcome]:
    """Yield each case of a pytest report."""
    cases = {f"test_a_case_runs[{case.name}]": case for case in running()}
    for test in ET.parse(path).iter("testcase"):  # noqa: S314  # pytest wrote it
        case = cases.get(test.attrib["name"])
        if case is None:
            continue
        trouble = [*test.iter("failure"), *test.iter("error"), *test.iter("skipped")]
        failure = trouble[0].attrib.get("message", "failed") if trouble else None
        yield Outcome(case=case, seconds=float(test.attrib["time"]), failure=failure)


def report(found: list[Outcome], command: str) -> str:
    """Return the report, with one line per case."""
    passed = sum(each.failure is None for each in found)
    head = _HEAD.format(
        command=f"`{command}`", machine=describe_machine(), passed=passed, count=len(found)
    )
    lines = [
        f"| {' | '.join(COLUMNS)} | seconds | outcome |",
        f"| {' | '.join('---' for _ in COLUMNS)} | ---: | --- |",
    ]
    for each in found:
        outcome = "passed" if each.failure is None else each.failure.splitlines()[0][:120]
        words = " | ".join(getattr(each.case, name) for name in COLUMNS)
        lines.append(f"| {words} | {each.seconds:.0f} | {outcome.replace('|', '/')} |")
    return head + "\n".join(lines) + "\n"


def run_cases(folder: Path) -> Path:
    """Run the tests of all cases and return pytest's report."""
    path = folder / "covering.xml"
    chosen = ["-m", "prove_all", f"--junitxml={path}", TEST]
    subprocess.run([sys.executable, "-m", "pytest", "-q", *chosen], cwd=ROOT, check=False)
    return path


def main() -> int:
    """Run the cases or read reports, and write the page."""
    parser = argparse.ArgumentParser(description="Run every case of the covering array.")
    parser.add_argument("reports", nargs="*", type=Path, help="reports of pytest; runs without one")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        reports = args.reports or [run_cases(Path(folder))]
        found = {one.case: one for path in reports for one in read_outcomes(path)}
    REPORT.write_text(
        report(list(found.values()), "python -m benchmarks.covering"), encoding="utf-8"
    )
    return 0 if all(each.failure is None for each in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
