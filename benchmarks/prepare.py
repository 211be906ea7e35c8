"""Time and memory of `prepare.py` for 100,000 and 1,000,000 short rows.

    python -m benchmarks.prepare [--rows 1000000]

Rows are messages with one of twelve labels, a few of them copies, blank or broken. Each size is
compiled with the quickstart's tokenizer and prepared in fresh processes. Memory is the sum of the
highest resident set of each process, sampled ten times a second; shared memory is counted several
times. Exits 1 if the larger size takes more than 3 minutes, or 100 MB more than the smaller one.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.data import VOCABULARY

ROOT: Final = Path(__file__).resolve().parent.parent
MODEL: Final = ROOT / "examples" / "quickstart" / "model"
BOUND_SECONDS: Final = 180.0
BOUND_GROWTH_BYTES: Final = 100_000_000
ODD: Final = 200  # one row in this many is a copy, one is blank and one is broken
COPY: Final = '{"prompt": "the same question", "completion": "label_0"}'
BLANK: Final = '{"prompt": " ", "completion": "label_0"}'


def write_rows(path: Path, rows: int) -> None:
    """Write messages of ten to twenty words as JSON lines."""
    pick = random.Random(3)  # noqa: S311 - a fixed sample
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            words = " ".join(pick.choices(VOCABULARY, k=pick.randint(10, 20)))
            row = {"prompt": f"{words} {number}", "completion": f"label_{number % 12}"}
            whole = json.dumps(row)
            odd = {1: COPY, 2: BLANK, 3: whole[:-9]}
            file.write(odd.get(number % ODD, whole) + "\n")


def compile_bundle(folder: Path, rows: int) -> Path:
    """Write the data and a spec on them, and compile it."""
    write_rows(folder / "rows.jsonl", rows)
    (folder / "model").symlink_to(MODEL)
    spec = {"name": "rows", "model": "./model", "data": "rows.jsonl", "hardware": "cpu"}
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    command = [sys.executable, "-m", "ftc", "compile", "spec.json"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return folder / "rows"


def watch(command: list[str], folder: Path) -> tuple[float, float, int]:
    """Run a command; return its seconds, CPU seconds, and the sum of its processes' peaks."""
    start, before = time.perf_counter(), cpu_seconds()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    peaks: dict[int, int] = {}
    while process.poll() is None:
        for number in family(process.pid):
            peaks[number] = max(peaks.get(number, 0), peak_bytes(number))
        time.sleep(0.1)
    if process.returncode:
        sys.exit(f"{' '.join(command)} exited with {process.returncode}")
    return time.perf_counter() - start, cpu_seconds() - before, sum(peaks.values())


def cpu_seconds() -> float:
    """Return the CPU seconds of ended child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def family(number: int) -> Iterator[int]:
    """Yield a process and its descendants."""
    yield number
    for path in Path(f"/proc/{number}/task").glob("*/children"):
        try:
            children = path.read_text(encoding="ascii").split()
        except OSError:
            continue
        for child in children:
            yield from family(int(child))


def peak_bytes(number: int) -> int:
    """Return the highest resident set of a process so far, or 0 if it has ended."""
    try:
        status = Path(f"/proc/{number}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    peaks = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return 1024 * int(next(peaks, "0"))


def measure(rows: int) -> tuple[float, int]:
    """Run prepare.py on this many rows in a new folder, and print its time and memory."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = compile_bundle(Path(folder), rows)
        seconds, cpu, peak = watch([sys.executable, "prepare.py"], bundle)
        report = json.loads((bundle / "run/data/report.json").read_text(encoding="utf-8"))
        written = sum(path.stat().st_size for path in (bundle / "run/data").glob("*.jsonl"))
    print(
        f"| {rows:,} | {report['rows_used']:,} | {seconds:.1f} | {cpu:.1f}"
        f" | {rows / seconds:,.0f} | {peak / 1e6:,.0f} | {written / 1e6:,.0f} |",
        flush=True,
    )
    return seconds, peak


def main() -> None:
    """Measure both sizes, and check the bounds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    print("| rows | used | seconds | of CPU | rows/s | peak, MB | written, MB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    _, small = measure(rows // 10)
    seconds, large = measure(rows)
    growth = large - small
    print(
        f"\n{seconds:.1f} s of {BOUND_SECONDS:.0f}; {growth / 1e6:.0f} MB more for ten times more"
    )
    sys.exit(int(seconds > BOUND_SECONDS or growth > BOUND_GROWTH_BYTES))


if __name__ == "__main__":
    main()
