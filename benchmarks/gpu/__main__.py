"""Measures plans and bundles on this machine's GPU, and appends the results to ledger.json.

    python -m benchmarks.gpu memory         # allocated, reserved and device bytes, and the plan's
    python -m benchmarks.gpu speed          # tokens per second and MFU, beside a plain script's
    python -m benchmarks.gpu correctness    # losses, resuming, a full memory, a whole run to a GGUF

They take at most 8, 8 and 5 minutes; `--minutes` gives them less, and `--only 0.5B` runs what has
that in its name. Models have random weights. What does not fit, fails or has no time left is
listed. Needs no network; what an offline machine must have is in README.md. Exits 3 without a GPU.

`--tiny` runs the same code with miniatures on a CPU, which is no measurement: it writes no ledger.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.bundles import make_bundles, run_pilot
from benchmarks.gpu.cases import CASES, SPEEDS, TINY, TINY_SPEEDS
from benchmarks.gpu.correctness import CHECKS
from benchmarks.gpu.ledger import LEDGER, append, table
from benchmarks.gpu.processes import Clock, describe_machine
from benchmarks.gpu.speed import ARMS, measure_arms, name_arm
from ftc.compiler.knowledge.accelerators import find_accelerator
from ftc.compiler.resolve.hardware import read_gpus

_ENVIRONMENT: Final = 3
_MINUTES: Final[Mapping[str, float]] = {"memory": 8, "speed": 8, "correctness": 5}
_LEAST_SECONDS: Final = 20  # none is started with less left


def main() -> None:
    """Run a command within its time, print its results, and append them to the ledger."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=_MINUTES, help="what to measure")
    parser.add_argument("--minutes", type=float, help="total minutes")
    parser.add_argument("--only", default="", metavar="TEXT", help="of the name of a case or check")
    parser.add_argument("--ledger", type=Path, default=LEDGER, help="the file to append to")
    parser.add_argument("--tiny", action="store_true", help="miniatures on a CPU; no ledger")
    arguments = parser.parse_args()
    gpus = [] if arguments.tiny else read_gpus()
    if not gpus and not arguments.tiny:
        print("no GPU: NVIDIA's driver names none on this machine", file=sys.stderr)
        sys.exit(_ENVIRONMENT)
    minutes = arguments.minutes or _MINUTES[arguments.command]
    clock = Clock(end=time.monotonic() + 60 * minutes)
    gpu = gpus[0].name if gpus else None
    runs = {"memory": run_memory, "speed": run_speed, "correctness": run_correctness}
    entries = []
    with tempfile.TemporaryDirectory(prefix="ftc-gpu-") as name:
        for entry in runs[arguments.command](Path(name), arguments.only, clock, gpu):
            entries.append({"command": arguments.command, **entry})
            print(f"{clock.left:5.0f} s left  {entry}", flush=True)
    if gpu is not None:
        append(arguments.ledger, describe_machine(gpu), entries)
    else:
        print("miniatures on a CPU: these are no measurements, and no ledger has them")
    if arguments.command != "correctness":
        print("\n".join(table(entries)))
    done = [entry for entry in entries if "measured" in entry or entry.get("passed")]
    sys.exit(0 if entries and len(done) == len(entries) else 1)


def run_memory(
    folder: Path, only: str, clock: Clock, gpu: str | None
) -> Iterator[Mapping[str, Any]]:
    """Yield an entry for each case, by a pilot of its bundle."""
    chosen = [case for case in (TINY if gpu is None else CASES) if only in case.name]
    hardware = "cpu" if gpu is None else "auto"
    for bundle in make_bundles(chosen, folder, hardware=hardware, clock=clock):
        if clock.left < _LEAST_SECONDS:
            yield {"case": bundle.case.name, "failed": "no time was left"}
        else:
            yield run_pilot(bundle, clock=clock, gpu=gpu is not None)


def run_speed(
    folder: Path, only: str, clock: Clock, gpu: str | None
) -> Iterator[Mapping[str, Any]]:
    """Yield an entry for each case and script."""
    cases = TINY_SPEEDS if gpu is None else SPEEDS
    arms = {case: [arm for arm in ARMS if only in name_arm(case, arm)] for case in cases}
    chosen = [case for case in cases if arms[case]]
    match = None if gpu is None else find_accelerator(gpu)
    peak = None if match is None else match.accelerator.bf16_tflops
    hardware = "cpu" if gpu is None else "auto"
    for bundle in make_bundles(chosen, folder, hardware=hardware, clock=clock):
        wanted = arms[bundle.case]
        if clock.left < _LEAST_SECONDS:
            yield {"case": bundle.case.name, "failed": "no time was left"}
        else:
            yield from measure_arms(
                bundle, wanted, clock=clock, gpu=gpu is not None, peak_tflops=peak
            )


def run_correctness(
    folder: Path, only: str, clock: Clock, gpu: str | None
) -> Iterator[Mapping[str, Any]]:
    """Yield an entry for each check."""
    for name, check in CHECKS.items():
        if only not in name:
            continue
        if clock.left < _LEAST_SECONDS:
            yield {"case": name, "failed": "no time was left"}
        else:
            found = check(folder / name, clock=clock, gpu=gpu is not None)
            yield {"case": name, **found}


if __name__ == "__main__":
    main()
