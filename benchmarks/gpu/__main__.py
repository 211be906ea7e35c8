"""Measures plans and bundles on this machine's GPU, and appends the results to ledger.json.

    python -m benchmarks.gpu memory         # allocated, reserved and device bytes, and the plan's
    python -m benchmarks.gpu speed          # tokens per second and MFU, beside a plain script's
    python -m benchmarks.gpu correctness    # losses, resuming, a full memory, a whole run to a GGUF

Before them, `python -m benchmarks.gpu bundles --bundles FOLDER --card NAME` on any machine compiles
the bundles for a card and prepares their data, which spares the machine with the GPU half the time:
the three commands then take `--bundles FOLDER`.

After them, `python -m benchmarks.gpu check` holds today's plans to what the ledger has measured.
It needs no GPU. Exits 1 if a planned peak is more than 1% too low or 5% too high, or if reserved
bytes are too low or more than 10% too high.

They take at most 8, 8 and 5 minutes; `--minutes` gives them less, and `--only 0.5B` runs what has
that in its name. `--at-once 3` runs three cases of `memory` side by side, without their speed. With
`--in-turns` they only start side by side and use the GPU one after another, as those of `speed`
always do. `--models` keeps the models for another command. Models have random weights.
What does not fit, fails or has no time left is listed. Needs no network; what an offline machine
must have is in README.md. Exits 3 without a GPU.

`--tiny` runs the same code with miniatures on a CPU, which is no measurement: it writes no ledger.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.bundles import LEAST_SECONDS, Bundle, Workshop, run_pilot, run_pilots
from benchmarks.gpu.cases import CASES, SPEEDS, TINY, TINY_SPEEDS, Case
from benchmarks.gpu.correctness import CHECKS, make_all
from benchmarks.gpu.held import print_errors
from benchmarks.gpu.ledger import LEDGER, append, table
from benchmarks.gpu.processes import Clock, describe_machine
from benchmarks.gpu.speed import ARMS, measure_arm, name_arm
from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.resolve.hardware import Gpu, read_gpus

_ENVIRONMENT: Final = 3
_MINUTES: Final[Mapping[str, float]] = {
    "bundles": 30, "memory": 8, "speed": 8, "correctness": 5, "check": 5,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What to measure of a command, where, and in what time; `gpu` None means miniatures."""

    shop: Workshop
    only: str
    clock: Clock
    gpu: Gpu | None
    at_once: int
    in_turns: bool

    def make(self, cases: Iterable[Case]) -> Iterator[Bundle]:
        """Yield the bundles of cases, with weights."""
        for case in cases:
            bundle = self.shop.make(case, clock=self.clock)
            if bundle.failure is None:
                self.shop.give_weights(bundle)
            yield bundle


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
    parser.add_argument("--bundles", type=Path, metavar="FOLDER", help="where bundles are kept")
    parser.add_argument("--card", default="auto", help="of command `bundles`: an accelerator")
    parser.add_argument("--at-once", type=int, default=1, help="runs to start side by side")
    parser.add_argument("--in-turns", action="store_true", help="one at a time uses the GPU")
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="where models are kept")
    parser.add_argument("--ledger", type=Path, default=LEDGER, help="the file to append to")
    parser.add_argument("--tiny", action="store_true", help="miniatures on a CPU; no ledger")
    arguments = parser.parse_args()
    minutes = arguments.minutes or _MINUTES[arguments.command]
    clock = Clock(end=time.monotonic() + 60 * minutes)
    if arguments.command == "bundles":
        sys.exit(make_bundles(arguments.bundles, arguments.card, clock))
    if arguments.command == "check":
        sys.exit(print_errors(arguments.ledger, arguments.only))
    gpus = [] if arguments.tiny else read_gpus()
    if not gpus and not arguments.tiny:
        print("no GPU: NVIDIA's driver names none on this machine", file=sys.stderr)
        sys.exit(_ENVIRONMENT)
    gpu = gpus[0] if gpus else None
    runs = {"memory": run_memory, "speed": run_speed, "correctness": run_correctness}
    entries = []
    with tempfile.TemporaryDirectory(prefix="ftc-gpu-") as name:
        shop = Workshop(
            bundles=(arguments.bundles or Path(name) / "bundles").resolve(),
            models=(arguments.models or Path(name) / "models").resolve(),
            hardware="cpu" if gpu is None else "auto",
        )
        task = Task(
            shop=shop,
            only=arguments.only,
            clock=clock,
            gpu=gpu,
            at_once=arguments.at_once,
            in_turns=arguments.in_turns or arguments.command == "speed",
        )
        if task.in_turns:
            os.environ["FTC_GPU_TURN"] = str(Path(name) / "turn")
        for entry in runs[arguments.command](task):
            entries.append({"command": arguments.command, **entry})
            print(f"{clock.left:5.0f} s left  {entry}", flush=True)
    if gpu is not None:
        append(arguments.ledger, describe_machine(gpu.name), entries)
    else:
        print("miniatures on a CPU: these are no measurements, and no ledger has them")
    if arguments.command != "correctness":
        print("\n".join(table(entries)))
    done = [entry for entry in entries if "measured" in entry or entry.get("passed")]
    sys.exit(0 if entries and len(done) == len(entries) else 1)


def make_bundles(folder: Path, card: str, clock: Clock) -> int:
    """Compile and prepare all bundles for a card, and print them; return 1 if any failed."""
    shop = Workshop(bundles=folder.resolve(), models=folder.resolve() / "models", hardware=card)
    failed = 0
    cases = (shop.make(case, clock=clock) for case in (*CASES, *SPEEDS))
    for bundle in chain(cases, make_all(shop, clock=clock, gpu=True)):
        failed += bundle.failure is not None
        print(bundle.case.name, bundle.failure or "", flush=True)
    return min(failed, 1)


def run_memory(task: Task) -> Iterator[Mapping[str, Any]]:
    """Yield an entry for each case, by a pilot of its bundle."""
    cases = TINY if task.gpu is None else CASES
    bundles = task.make(case for case in cases if task.only in case.name)
    if task.gpu is not None:
        memory_bytes = None if task.in_turns else task.gpu.memory_bytes
        made = list(bundles) if task.in_turns else bundles  # weights are made on the GPU too
        yield from run_pilots(
            made, clock=task.clock, at_once=task.at_once, memory_bytes=memory_bytes
        )
        return
    for bundle in bundles:
        yield run_pilot(bundle, clock=task.clock, gpu=False)


def run_speed(task: Task) -> Iterator[Mapping[str, Any]]:
    """Yield an entry for each case and script."""
    cases = TINY_SPEEDS if task.gpu is None else SPEEDS
    arms = {case: [arm for arm in ARMS if task.only in name_arm(case, arm)] for case in cases}
    match = None if task.gpu is None else find_accelerator(task.gpu.name)
    peak = None if match is None else match.accelerator.bf16_tflops
    bundles = list(task.make(case for case in cases if arms[case]))

    def measure(bundle: Bundle, arm: str) -> Mapping[str, Any]:
        is_gpu = task.gpu is not None
        return measure_arm(bundle, arm, clock=task.clock, gpu=is_gpu, peak_tflops=peak)

    with ThreadPoolExecutor(task.at_once) as pool:
        waiting = [
            pool.submit(measure, bundle, arm) for bundle in bundles for arm in arms[bundle.case]
        ]
        for done in as_completed(waiting):
            yield done.result()


def run_correctness(task: Task) -> Iterator[Mapping[str, Any]]:
    """Yield an entry for each check."""
    for name, check in CHECKS.items():
        if task.only not in name:
            continue
        if task.clock.left < LEAST_SECONDS:
            yield {"case": name, "failed": "no time was left"}
        else:
            found = check(task.shop, clock=task.clock, gpu=task.gpu is not None)
            yield {"case": name, **found}


if __name__ == "__main__":
    main()
