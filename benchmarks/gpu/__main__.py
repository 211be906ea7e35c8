"""Compares plans with this machine's GPU: bundles of real shapes, a few steps each.

    python -m benchmarks.gpu               # about 10 minutes; appends to ledger.json
    python -m benchmarks.gpu --minutes 4   # as many cases as possible, smallest first

Each case of `cases.py` is compiled for this machine, and its bundle is run with random weights. The
ledger keeps the plan's values and the measured ones: bytes allocated, reserved and reported by the
driver, and tokens per second. Cases that do not fit, fail or run out of time are listed. Exits 3
if there is no GPU.
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.gpu.cases import CASES
from benchmarks.gpu.ledger import LEDGER, append, table
from benchmarks.gpu.measurement import make_model, measure
from ftc.compiler.resolve.hardware import read_gpus

_ENVIRONMENT: Final = 3
_MINUTE: Final = 60
_LAST_SECONDS: Final = 75  # the time of the longest case: none is started with less left


def main() -> None:
    """Measure the cases within the time, print them, and append them to the ledger."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="total minutes (%(default)s)")
    parser.add_argument("--ledger", type=Path, default=LEDGER, help="the file to append to")
    arguments = parser.parse_args()
    gpus = read_gpus()
    if not gpus:
        print("no GPU: NVIDIA's driver names none on this machine", file=sys.stderr)
        sys.exit(_ENVIRONMENT)
    end = time.monotonic() + arguments.minutes * _MINUTE - _LAST_SECONDS
    entries, shape = [], ""
    with tempfile.TemporaryDirectory(prefix="ftc-gpu-") as name:
        folder = Path(name)
        for case in CASES:
            if time.monotonic() > end:
                print(f"no time left for {case.name}")
                continue
            if case.shape != shape:
                shutil.rmtree(folder / "model", ignore_errors=True)
                make_model(folder / "model", case.shape)
                shape = case.shape
            print(f"running {case.name}", flush=True)
            entries.append(measure(case, folder, hardware="auto"))
            shutil.rmtree(folder / "bundles")
    append(arguments.ledger, gpus[0].name, entries)
    print("\n".join(table(entries)))
    sys.exit(0 if any("measured" in entry for entry in entries) else 1)


if __name__ == "__main__":
    main()
