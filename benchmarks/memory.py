"""Compares the memory model with published measurements, by family.

    python -m benchmarks.memory CASES.json

CASES.json is a JSON list in the format of `memory_cases.json`. Each row that the model covers is
predicted by the formulas that `ftc plan` uses, with the row's own stack in place of the pinned one.
A row that is not covered is counted with the reason. Exits 1 if a bound is broken, 2 if the file is
not such a list; the last line is the verdict. `memory.md` explains the bounds.
"""

import argparse
import json
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.published import Bound, Case, Row, card_bytes, measured_bytes, read_case
from benchmarks.reserved import read_run, reserve, weigh
from ftc.compiler.plan.memory.peak import bound_bytes, overhead_bytes
from ftc.compiler.plan.memory.phases import phases

# bound -> (largest median, largest error), of the absolute relative error; None: not checked
BOUNDS: Final[Mapping[Bound | Literal["reserved"], tuple[float, float | None]]] = {
    "plain": (0.005, 0.03),
    "fsdp": (0.01, 0.05),
    "fsdp-qlora-70b": (0.05, None),
    "other": (0.05, None),
    "reserved": (0.08, 0.30),
}
_LOW: Final = -0.02  # an error below this counts as too low
_FULL: Final = 0.97  # a run above this fraction of its card does not fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One row with a prediction beside its measurement, in bytes.

    `bound_bytes` are those that the plan wants free for torch, its margin included.
    """

    case: Case
    row: Row
    predicted_bytes: int
    bound_bytes: int
    device_bytes: int
    measured_bytes: int | None

    @property
    def capacity_bytes(self) -> int | None:
        """Return the memory of the row's card as reported by its driver, or None."""
        return card_bytes(self.row)

    @property
    def error(self) -> float:
        """Return the relative error of a measured row; positive if the prediction is too high."""
        return self.predicted_bytes / (self.measured_bytes or 1) - 1


def score_rows(rows: Iterable[Row]) -> tuple[tuple[Score, ...], Counter[str]]:
    """Predict the covered rows; count the others by reason."""
    scores, refused = [], Counter[str]()
    for row in rows:
        case = read_case(row)
        if isinstance(case, str):
            refused[case] += 1
            continue
        scores.append(_score(case, row))
    return tuple(scores), refused


def _score(case: Case, row: Row) -> Score:
    allocated = max(phases(case.job).values())
    bound, predicted = bound_bytes(case.job, allocated), allocated
    if case.kind == "reserved":  # published runs used default segments
        alone = case.job.sharding == "single"
        predicted = round(weigh(*reserve(case.job))) if alone else bound
    return Score(
        case=case,
        row=row,
        predicted_bytes=predicted,
        bound_bytes=bound,
        device_bytes=bound + overhead_bytes(case.job),
        measured_bytes=measured_bytes(row),
    )


def summarise(errors: Sequence[float]) -> Mapping[str, float]:
    """Return a family's statistics: absolute error, bias, and the fraction too low."""
    sizes = sorted(abs(error) for error in errors)
    return {
        "n": len(sizes),
        "median": statistics.median(sizes),
        "p95": sizes[min(len(sizes) - 1, round(0.95 * (len(sizes) - 1)))],
        "max": sizes[-1],
        "bias": statistics.fmean(errors),
        "low": sum(error < _LOW for error in errors) / len(errors),
    }


def wrong_fits(scores: Iterable[Score]) -> tuple[str, ...]:
    """Name the runs that fit by the model, but ran out of memory or nearly filled the card."""
    named = []
    for score in scores:
        capacity = score.capacity_bytes
        if capacity is None or score.device_bytes > capacity:
            continue
        ran_out = "OOM" in str(score.row.get("peak_as_printed"))
        if ran_out or (score.measured_bytes or 0) > _FULL * capacity:
            named.append(name(score))
    return tuple(named)


def driver_errors(scores: Iterable[Score]) -> list[float]:
    """Return the errors against nvidia-smi's figure, for one-GPU rows that also have a peak.

    Those runs used the allocator's default segments, so the driver's figure includes cached memory.
    The prediction is between two replays of a step through such an allocator (`reserved.py`), plus
    the CUDA context.
    """
    errors = []
    for score in scores:
        run = read_run(score.case, score.row)
        if run is not None:
            overhead = overhead_bytes(score.case.job)
            said = weigh(run.joint_bytes, run.apart_bytes) + overhead
            errors.append(said / (run.reserved_bytes + overhead) - 1)
    return errors


def name(score: Score) -> str:
    """Describe the run of a row in one line."""
    row = score.row
    return f"{row['model']}, {score.case.family}, {row['gpus']}x, {row['micro_batch']} rows"


def report(rows: Sequence[Row]) -> bool:
    """Print every table and the verdict; return whether all bounds hold."""
    scores, refused = score_rows(rows)
    measured = [score for score in scores if score.measured_bytes is not None]
    families: dict[tuple[str, str], list[float]] = defaultdict(list)
    bounds: dict[Bound, list[float]] = defaultdict(list)
    for score in measured:
        families[score.case.bound, score.case.family].append(score.error)
        bounds[score.case.bound].append(score.error)
    print(f"{'family':44}{'n':>5}{'median':>9}{'p95':>9}{'max':>9}{'bias':>9}{'<-2 %':>8}")
    for (_, family), errors in sorted(families.items()):
        print(_line(family, errors))
    print()
    broken = [text for bound, errors in bounds.items() if (text := _break(bound, errors))]
    for bound, errors in sorted(bounds.items()):
        print(_line(f"bound: {bound}", errors))
    seen = driver_errors(measured)
    if seen:
        print(_line("bound: reserved and context, one GPU", seen))
        broken += [text] if (text := _break("reserved", seen)) else []
    over = sum((score.measured_bytes or 0) > score.bound_bytes for score in measured)
    large = sum(
        score.device_bytes > (score.capacity_bytes or score.device_bytes) for score in measured
    )
    print(
        f"{over} of {len(measured)} measured peaks are above the plan's bound, its margin included;"
    )
    print(f"{large} of these runs were done on a card that is too small according to the plan")
    _list_unscored(scores, refused)
    wrong = wrong_fits(scores)
    for line in wrong:
        print(f"predicted to fit, but did not: {line}")
    if wrong:
        broken.append(f"{len(wrong)} runs predicted to fit did not")
    counts = f"{len(measured)} of {len(rows)} rows predicted, {sum(refused.values())} not covered"
    if not measured:
        broken.append("no row could be predicted")
    print(f"{counts}: " + ("; ".join(broken) if broken else "every bound holds"))
    return not broken


def _list_unscored(scores: Iterable[Score], refused: Counter[str]) -> None:
    """Print the rows without an error: failed runs without a figure, and rows not covered."""
    failed = [score for score in scores if score.measured_bytes is None]
    print()
    for score in failed:
        capacity = score.capacity_bytes
        said = "unknown card" if capacity is None else "does not fit"
        if capacity is not None and score.device_bytes <= capacity:
            said = "fits"
        print(f"failed, not scored (plan: {said}, {score.device_bytes / 2**30:.1f} GiB): ", end="")
        print(name(score))
    for reason, count in sorted(refused.items(), key=lambda item: (-item[1], item[0])):
        print(f"not covered, {count:4} rows: {reason}")
    print()


def _line(label: str, errors: Sequence[float]) -> str:
    said = summarise(errors)
    shares = "".join(f"{said[key]:>9.3%}" for key in ("median", "p95", "max", "bias"))
    return f"{label:44}{said['n']:>5}{shares}{said['low']:>8.1%}"


def _break(bound: Bound | Literal["reserved"], errors: Sequence[float]) -> str | None:
    """Describe how a bound is broken, or return None."""
    median, most = BOUNDS[bound]
    said = summarise(errors)
    if said["median"] > median:
        return f"{bound}: median {said['median']:.3%} is above {median:.1%}"
    if most is not None and said["max"] > most:
        return f"{bound}: maximum {said['max']:.3%} is above {most:.1%}"
    return None


def main() -> None:
    """Read the cases and compare the model with them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("cases", type=Path, help="a JSON list of measurements")
    path = parser.parse_args().cases
    try:
        rows: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        parser.error(f"{path} cannot be read: {error}")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        parser.error(f"{path} is not a list of objects")
    sys.exit(0 if report(rows) else 1)


if __name__ == "__main__":
    main()
