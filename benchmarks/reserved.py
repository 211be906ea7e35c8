"""What default segments reserve: fitted to one half of the published runs, held to the other.

    python -m benchmarks.reserved CASES.json

CASES.json is as for `benchmarks.memory`. Its one-GPU runs used the allocator's default segments,
and the driver's figure includes what is cached. Each run's tensors are replayed twice (`tape.py`,
`heap.py`): as one sequence, and with the loss in segments of its own, as if no other phase used
them. A weight places the expected bytes between the two, a margin above those makes a bound. Both
are fitted to every other family of runs, and judged by the families that are left; then the halves
change places. Exits 1 if more than a tenth of the held-out runs reserved more than their bound, 2
if the file cannot be read.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.heap import Heap
from benchmarks.published import Case, Row, card_bytes, measured_bytes, read_case
from benchmarks.tape import replay
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.peak import overhead_bytes

#: Of the way from one sequence to a loss apart: what fits all published runs best.
WEIGHT: Final = 0.55
_WEIGHTS: Final = 20  # those tried are multiples of one in so many
_COVERED: Final = 0.95  # of the fitted half is below its own bound
_ABOVE: Final = 0.1
_LOW: Final = -0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A published run: bytes that were reserved, and those of the two replays."""

    family: str
    reserved_bytes: int
    joint_bytes: int
    apart_bytes: int

    def error(self, weight: float) -> float:
        """Return the relative error of the expected bytes; negative if they are too low."""
        return weigh(self.joint_bytes, self.apart_bytes, weight) / self.reserved_bytes - 1


def weigh(joint: int, apart: int, weight: float = WEIGHT) -> float:
    """Return the bytes between two replays."""
    return joint + weight * (apart - joint)


def reserve(job: Job, capacity: int | None = None) -> tuple[int, int]:
    """Return the bytes that two replays with default segments reserve: joint, and loss apart."""
    joint = replay(job, expandable=False, capacity_bytes=capacity).most_reserved_bytes
    losses = Heap()
    others = replay(job, expandable=False, losses=losses).most_reserved_bytes
    apart = max(joint, others + losses.most_reserved_bytes)
    return joint, apart if capacity is None else max(joint, min(capacity, apart))


def read_run(case: Case, row: Row) -> Run | None:
    """Return a row as a run, or None without the driver's figure for one GPU of a known card."""
    capacity, said = card_bytes(row), row.get("nvidia_smi_mib")
    peak = measured_bytes(row)
    if not said or capacity is None or peak is None or case.job.sharding != "single":
        return None
    overhead = overhead_bytes(case.job)
    joint, apart = reserve(case.job, capacity - overhead)
    return Run(
        family=f"{row['model']}, {case.family}",
        reserved_bytes=max(peak, round(float(said) * 2**20) - overhead),
        joint_bytes=joint,
        apart_bytes=apart,
    )


def read_runs(rows: Iterable[Row]) -> list[Run]:
    """Return the runs among the rows."""
    cases = ((read_case(row), row) for row in rows)
    runs = (read_run(case, row) for case, row in cases if isinstance(case, Case))
    return [run for run in runs if run is not None]


def fit(runs: Sequence[Run]) -> tuple[float, float]:
    """Return the weight with the smallest median error, and the margin for nearly all runs."""
    weights = (step / _WEIGHTS for step in range(_WEIGHTS + 1))
    weight = min(weights, key=lambda weight: _median(runs, weight))
    beyond = sorted(1 / (1 + run.error(weight)) - 1 for run in runs)
    return weight, max(0.0, beyond[round(_COVERED * (len(beyond) - 1))])


def _median(runs: Sequence[Run], weight: float) -> float:
    return statistics.median(abs(run.error(weight)) for run in runs)


def _line(label: str, runs: Sequence[Run], weight: float, margin: float) -> str:
    errors = [run.error(weight) for run in runs]
    sizes = [abs(error) for error in errors]
    low = sum(error < _LOW for error in errors) / len(errors)
    numbers = (statistics.median(sizes), max(sizes), low, above(runs, weight, margin))
    shares = "".join(f"{number:>10.1%}" for number in numbers)
    return f"{label:36}{len(runs):>5}{weight:>8.2f}{margin:>9.1%}{shares}"


def above(runs: Sequence[Run], weight: float, margin: float) -> float:
    """Return the share of runs that reserved more than their bound."""
    return sum((1 + run.error(weight)) * (1 + margin) < 1 for run in runs) / len(runs)


def report(runs: Sequence[Run]) -> bool:
    """Print a table of the fits; return whether the bounds hold for the held-out runs."""
    families = sorted({run.family for run in runs})
    even = {family for place, family in enumerate(families) if place % 2 == 0}
    halves = (
        [run for run in runs if run.family in even],
        [r for r in runs if r.family not in even],
    )
    columns = ("median", "worst", "too low", "above")
    print(f"{'held-out runs':36}{'n':>5}{'weight':>8}{'margin':>9}", end="")
    print("".join(f"{column:>10}" for column in columns))
    missed = 0.0
    for name, fitted, held in (("even", *halves), ("odd", *halves[::-1])):
        weight, margin = fit(fitted)
        print(_line(f"one sequence, fitted to {name}", held, 0.0, 0.0))
        print(_line(f"weighed, fitted to {name}", held, weight, margin))
        missed += above(held, weight, margin) * len(held)
    print(_line("one sequence, all runs", runs, 0.0, 0.0))
    print(_line("weighed as in benchmarks.memory", runs, WEIGHT, fit(runs)[1]))
    share = missed / len(runs)
    print(f"{share:.1%} of the held-out runs reserved more than their bound")
    return share <= _ABOVE


def main() -> None:
    """Read the cases and print the fits."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reserved",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("cases", type=Path, help="a JSON list of measurements")
    path = parser.parse_args().cases
    try:
        rows: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        parser.error(f"{path} cannot be read: {error}")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        parser.error(f"{path} is not a list of objects")
    runs = read_runs(rows)
    if len({run.family for run in runs}) < 2:  # noqa: PLR2004 - a family for each half
        parser.error(f"{path} has too few runs on one GPU with the driver's figure")
    sys.exit(0 if report(runs) else 1)


if __name__ == "__main__":
    main()
