"""Fuzz every reader of untrusted input with mutated inputs, for a number of minutes.

    make fuzz                          # ten minutes, into benchmarks/fuzz.md
    python -m benchmarks.fuzz --minutes 1 --target spec-json

Each target runs in its own process, with limits on memory and on the time per input. Inputs that
break it are kept in build/fuzz/, by target. After the fix, move them to tests/hostile/.
"""

import argparse
import faulthandler
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks.fuzz.mutations import mutate
from benchmarks.fuzz.seeds import ROOT, find_seeds, make_folder
from benchmarks.fuzz.targets import TARGETS, describe_failure, run_target

SECONDS = 15.0  # per input; rendering a chat template stops by itself after 10
MEMORY_BYTES = 3 * 2**30  # anonymous memory, including libraries and their threads
FOUND = ROOT / "build" / "fuzz"
REPORT = ROOT / "benchmarks" / "fuzz.md"


class TooSlowError(BaseException):
    """An input took too long; a reader's `except Exception` does not catch this."""


def main() -> int:
    """Run all targets, or one target in this process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz")
    parser.add_argument("--minutes", type=float, default=10, help="in all (10)")
    parser.add_argument("--target", choices=TARGETS, action="append", help="only this one")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    parser.add_argument("--write", action="store_true", help="into benchmarks/fuzz.md")
    parser.add_argument("--child", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.target or list(TARGETS)
    if args.child is not None:
        print(json.dumps(fuzz(names[0], args.child, args.seed)))
        return 0
    results = {name: start(name, 60 * args.minutes / len(names), args.seed) for name in names}
    report = write_report(results, args.seed)
    print(report)
    if args.write:
        REPORT.write_text(report, encoding="utf-8")
    return int(any(result["failures"] for result in results.values()))


def start(name: str, seconds: float, number: int) -> dict[str, Any]:
    """Fuzz one target in another process; if it dies, its last input is a failure."""
    command = [sys.executable, "-m", "benchmarks.fuzz", "--target", name]
    command += ["--child", str(seconds), "--seed", str(number)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        result: dict[str, Any] = json.loads(done.stdout.rstrip().rpartition("\n")[2])
        return result
    why = done.stderr.strip().rpartition("\n")[2] or "it said nothing"
    return {"inputs": 0, "slowest": 0, "mib": 0, "failures": [f"ended by {done.returncode}: {why}"]}


def fuzz(name: str, seconds: float, number: int) -> dict[str, Any]:
    """Fuzz one target until the time is up; keep one input per kind of failure."""
    FOUND.mkdir(parents=True, exist_ok=True)
    failures: dict[str, Path] = {}
    state = {"inputs": 0, "slowest": 0.0}
    last = FOUND / f"{name}.last"
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _give_up)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_folder(folder)
        end = time.monotonic() + seconds

        def try_one(content: bytes) -> None:
            if time.monotonic() > end:
                return
            last.write_bytes(content)
            began = time.monotonic()
            failure = _try(name, content, folder)
            state["slowest"] = max(state["slowest"], time.monotonic() - began)
            state["inputs"] += 1
            if failure is not None and failure not in failures:
                path = FOUND / f"{name}-{len(failures)}"
                path.write_bytes(content)
                failures[failure] = path
                print(f"{failure}: {path}", file=sys.stderr)

        for content in find_seeds(name):
            try_one(content)
        while time.monotonic() < end:
            number += 1
            _round(try_one, find_seeds(name), number)
    last.unlink(missing_ok=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "inputs": state["inputs"],
        "slowest": round(state["slowest"], 2),
        "mib": round(peak),
        "failures": [f"{failure} ({path.name})" for failure, path in failures.items()],
    }


def _round(try_one: Callable[[bytes], None], seeds: list[bytes], number: int) -> None:
    """Draw a few hundred inputs."""

    @seed(number)
    @settings(
        max_examples=300,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(content=mutate(seeds))
    def draw(content: bytes) -> None:
        try_one(content)

    draw()


def _try(name: str, content: bytes, folder: Path) -> str | None:
    """Return the failure of an input, or None."""
    faulthandler.dump_traceback_later(4 * SECONDS, exit=True)  # in case the signal is not handled
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        run_target(name, content, folder)
    except (Exception, TooSlowError) as error:  # noqa: BLE001 - fuzzing looks for any exception
        return describe_failure(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
    return None


def _give_up(*_: object) -> None:
    raise TooSlowError


def write_report(results: dict[str, dict[str, Any]], number: int) -> str:
    """Return the report: the inputs and failures of each target."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    failures = [text for result in results.values() for text in result["failures"]]
    total = sum(result["inputs"] for result in results.values())
    lines = [
        "# Fuzzing",
        "",
        "Every reader of untrusted input, tested with inputs that hypothesis mutates:",
        f"`make fuzz`. On {datetime.now(UTC):%Y-%m-%d} at commit {commit}, on Python",
        f"{platform.python_version()}, seed {number}.",
        "",
        f"{total:,} inputs, {len(failures)} failures. The limits are {SECONDS:.0f} s per input and",
        f"{MEMORY_BYTES / 2**30:.0f} GiB per process. A crash, a hang, or an error that the",
        "caller of a reader does not expect is a failure.",
        "",
        "| target | inputs | slowest, s | peak of the process, MiB | failures |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(
            f"| {name} | {result['inputs']:,} | {result['slowest']:.2f} | {result['mib']:,} "
            f"| {len(result['failures'])} |"
            for name, result in results.items()
        ),
        *(["", *(f"- {failure}" for failure in failures)] if failures else []),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
