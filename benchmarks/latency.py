"""Response times of `ftc check` on a bad spec and of `ftc compile`, as whole processes.

    python benchmarks/latency.py [--runs 7]

Every figure is the median of several fresh processes. The baseline, measured in the same run, is an
interpreter that imports the three libraries that any such tool needs; the ratio does not depend on
the machine's speed. Exits 1 if a bound is broken: 0.30 s for a check, 1.0 s for a compile with a
local model folder and a 10,000-row CSV.
"""

import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "examples" / "quickstart"
BASELINE = [sys.executable, "-c", "import jsonschema, jinja2, tokenizers, click"]
CHECK_SECONDS = 0.30
COMPILE_SECONDS = 1.0
ROWS = 10_000


def median_seconds(command: list[str], folder: Path, runs: int, *, code: int, fresh: str) -> float:
    """Run a command in fresh processes, without the folder `fresh`; return the median wall time."""
    # As on a user's machine, the second start finds the bytecode of the first.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(runs + 1):
        shutil.rmtree(folder / fresh, ignore_errors=True)
        start = time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, check=False, text=True
        )
        times.append(time.perf_counter() - start)
        if done.returncode != code:
            sys.exit(f"{' '.join(command)} exited {done.returncode}:\n{done.stdout}{done.stderr}")
    return statistics.median(times[1:])  # the first run fills the file cache


def write_inputs(folder: Path) -> None:
    """Write a spec with a misspelt key, a valid one, and its 10,000 rows."""
    with (QUICKSTART / "tickets.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for number in range(ROWS):
            message, intent = rows[number % len(rows)][:2]
            writer.writerow([f"{message} ({number})", intent])
    good = {
        "name": "latency",
        "model": os.path.relpath(QUICKSTART / "model", folder),
        "data": "rows.csv",
        "method": "full",
        "hardware": "cpu",
        "export": ["Q8_0"],
    }
    (folder / "good.json").write_text(json.dumps(good), encoding="utf-8")
    bad = {**good, "method": {"type": "lora", "rnak": 8}}
    (folder / "bad.json").write_text(json.dumps(bad, indent=2), encoding="utf-8")


def main() -> None:
    """Measure, print the table, and check the bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    ftc = [sys.executable, "-m", "ftc"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        baseline = median_seconds(BASELINE, folder, runs, code=0, fresh="latency")
        check = median_seconds([*ftc, "check", "bad.json"], folder, runs, code=1, fresh="latency")
        compiled = median_seconds(
            [*ftc, "compile", "good.json"], folder, runs, code=0, fresh="latency"
        )
    print(f"{'what':44} {'seconds':>8} {'x baseline':>11} {'bound':>7}")
    print(f"{'interpreter and three libraries':44} {baseline:8.3f} {1.0:11.2f}")
    for what, seconds, bound in (
        ("ftc check, a misspelt key", check, CHECK_SECONDS),
        ("ftc compile, local model, 10,000 rows", compiled, COMPILE_SECONDS),
    ):
        print(f"{what:44} {seconds:8.3f} {seconds / baseline:11.2f} {bound:7.2f}")
    sys.exit(check > CHECK_SECONDS or compiled > COMPILE_SECONDS)


if __name__ == "__main__":
    main()
