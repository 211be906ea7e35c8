"""Compares planned tokens per second with published ones, by family.

    python -m benchmarks.rates CASES.json

CASES.json is as for `benchmarks.memory`. Each row with a rate that the model covers is timed by the
formulas that `ftc plan` uses, with the row's own stack, and its micro-batch is a whole step. Rates
are those of one GPU. Exits 1 if no row has a rate, 2 if the file cannot be read.
"""

import argparse
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.published import Case, Row, read_case
from ftc.compiler.knowledge.hardware.accelerators import Accelerator, find_accelerator
from ftc.compiler.plan.time.roofline import micro_seconds, step_overhead_seconds
from ftc.compiler.resolve.facts import HardwareFacts


def read_hardware(card: Accelerator, count: int) -> HardwareFacts:
    """Return a machine of such cards as the table describes them."""
    return HardwareFacts(
        name=card.name,
        kind="gpu",
        origin="spec",
        count=count,
        memory_bytes=card.memory_bytes,
        compute_capability=float(".".join(map(str, card.compute_capability or (8, 0)))),
        bf16=card.bf16,
        flash_attention_2=card.flash_attention_2,
        bf16_tflops=card.bf16_tflops,
        bandwidth_gb_s=card.bandwidth_gb_s,
        link=card.link,
        host_ram_bytes=None,
        disk_free_bytes=None,
        cores=None,
        also_matches=(),
    )


def planned_rate(case: Case, card: Accelerator) -> float:
    """Return the tokens per second of one GPU that the plan of this run would state."""
    job = case.job
    hardware = read_hardware(card, job.world)
    micro = micro_seconds(job, hardware, job.tokens)
    seconds = job.accumulation * micro + step_overhead_seconds(job, hardware, micro)
    return job.accumulation * job.tokens / seconds


def read_errors(rows: Iterable[Row]) -> dict[str, list[float]]:
    """Return the relative errors of planned rates by family; positive if the plan is too fast."""
    found = defaultdict(list)
    for row in rows:
        case, match = read_case(row), find_accelerator(str(row.get("gpu_type") or ""))
        if isinstance(case, str) or match is None or not row.get("tokens_per_s"):
            continue
        rate = planned_rate(case, match.accelerator)
        found[case.family].append(rate / float(row["tokens_per_s"]) - 1)
    return found


def describe(label: str, errors: Sequence[float]) -> str:
    """Return a line: rows, median and 90th percentile of the absolute error, and its bias."""
    sizes = sorted(abs(error) for error in errors)
    p90 = sizes[round(0.9 * (len(sizes) - 1))]
    numbers = (statistics.median(sizes), p90, sizes[-1], statistics.fmean(errors))
    return f"{label:44}{len(sizes):>5}" + "".join(f"{number:>9.1%}" for number in numbers)


def report(rows: Sequence[Row]) -> bool:
    """Print a line per family and one of all; return whether any row has a rate."""
    families = read_errors(rows)
    print(f"{'family':44}{'n':>5}{'median':>9}{'p90':>9}{'max':>9}{'bias':>9}")
    for family, errors in sorted(families.items()):
        print(describe(family, errors))
    every = [error for errors in families.values() for error in errors]
    if every:
        print(describe("all", every))
    return bool(every)


def main() -> None:
    """Read the cases and compare the rates."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rates",
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
    sys.exit(0 if report(rows) else 1)


if __name__ == "__main__":
    main()
