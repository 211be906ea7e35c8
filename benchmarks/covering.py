"""Run every combination of the covering array on this machine, and write down what became of each.

    python -m benchmarks.covering                # all of them, into benchmarks/covering.md
    python -m benchmarks.covering RESULTS.xml... # the page alone, from reports of pytest

The cases are those of tests/covering.py; each is a whole bundle, started by its own `run.sh`. Of
several reports the last word on a case counts. Exits 1 when one did not end well.
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
TEST: Final = "tests/end_to_end/test_covering.py"
COLUMNS: Final = (
    *("objective", "form", "method", "sharding", "packing", "optimizer", "format", "export"),
)
_HEAD: Final = """\
# Every pair of choices, run

{command} {machine}

A pairwise array over objective, shape of rows, method, sharding, device, precision, packing,
optimiser, format of the file and export: every two choices that no rule refuses stand together in
some case. Each case here is a whole bundle in miniature on a CPU: a Llama of 2.6 million random
weights, 60 rows, 6 steps, all stages by its own `run.sh`, with every post-condition. All but
`single` are two processes. Cases that differ in device or precision alone are one here, as a CPU
has fp32 alone; what they compile to is read by the libraries' own classes in `make prove`.

{passed} of {count} ended well. The seconds are those of a machine that others worked on as well.

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a case, and why it failed where it did."""

    case: Case
    seconds: float
    failure: str | None


def read_outcomes(path: Path) -> Iterator[Outcome]:
    """Yield each case that a report of pytest tells of."""
    cases = {f"test_a_case_runs[{case.name}]": case for case in running()}
    for test in ET.parse(path).iter("testcase"):  # noqa: S314  # pytest wrote it
        case = cases.get(test.attrib["name"])
        if case is None:
            continue
        trouble = [*test.iter("failure"), *test.iter("error"), *test.iter("skipped")]
        failure = trouble[0].attrib.get("message", "failed") if trouble else None
        yield Outcome(case=case, seconds=float(test.attrib["time"]), failure=failure)


def report(found: list[Outcome], command: str) -> str:
    """Return the page: a line for each case."""
    passed = sum(each.failure is None for each in found)
    head = _HEAD.format(
        command=f"`{command}`", machine=describe_machine(), passed=passed, count=len(found)
    )
    lines = [
        f"| {' | '.join(COLUMNS)} | seconds | outcome |",
        f"| {' | '.join('---' for _ in COLUMNS)} | ---: | --- |",
    ]
    for each in found:
        outcome = "ended well" if each.failure is None else each.failure.splitlines()[0][:120]
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
    """Run or read, and write the page."""
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
