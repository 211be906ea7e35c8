"""Time and memory to read data facts: 100,000 rows and a large file, in fresh processes.

    python benchmarks/data.py [--rows 100000]

Rows are short messages with labels and long chats; each is resolved completely (counts,
near copies, languages, lengths with the quickstart's tokenizer). Exits 1 if the first takes more
than 10 seconds.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ftc.compiler.pipeline import check
from ftc.compiler.resolve.facts import Unknown

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "examples" / "quickstart" / "model"
BOUND_SECONDS = 10.0
MIB = 1024**2
LETTERS = "bcdfglmnprst"
VOCABULARY = [f"{a}{b}{c}" for a in LETTERS for b in ("e", "ana", "o", "iri") for c in LETTERS]


def write_messages(path: Path, rows: int) -> None:
    """Write messages of some thirty words, each with one of twelve labels."""
    pick = random.Random(1)  # noqa: S311 - a fixed sample
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            words = " ".join(pick.choices(VOCABULARY, k=30))
            row = {"prompt": f"{words} {number}", "completion": f"label_{number % 12}"}
            file.write(json.dumps(row) + "\n")


def write_chats(path: Path, rows: int) -> None:
    """Write conversations of two questions, about 1,500 characters each."""
    pick = random.Random(2)  # noqa: S311 - a fixed sample
    with path.open("w", encoding="utf-8") as file:
        for _ in range(rows):
            turns = [
                {"role": role, "content": " ".join(pick.choices(VOCABULARY, k=75))}
                for role in ("user", "assistant") * 2
            ]
            file.write(json.dumps({"messages": turns}) + "\n")


def resolve(path: Path) -> None:
    """Resolve the data facts in this process and print time and memory."""
    start = time.perf_counter()
    outcome = check(str(path))
    seconds = time.perf_counter() - start
    if outcome.facts is None or isinstance(outcome.facts.data, Unknown):
        sys.exit(f"no facts: {outcome.findings}")
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu, peak, data = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, outcome.facts.data
    print(json.dumps([seconds, cpu, peak, data.rows, data.sampled_rows, data.size_bytes]))


def measure(folder: Path, data: Path) -> list[float]:
    """Resolve the data in a fresh process."""
    spec = folder / "spec.json"
    written = {"name": "x", "model": str(MODEL), "data": data.name, "hardware": "cpu"}
    spec.write_text(json.dumps(written), encoding="utf-8")
    command = [sys.executable, __file__, "--resolve", str(spec)]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    read: list[float] = json.loads(done.stdout.rstrip().rpartition("\n")[2])
    return read


def main() -> None:
    """Measure, print the table, and check the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--resolve", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.resolve is not None:
        resolve(asked.resolve)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_messages(folder / "messages.jsonl", asked.rows)
        write_chats(folder / "chats.jsonl", asked.rows)
        heads = ("what", "rows", "measured", "file MiB", "seconds", "of CPU", "peak MiB")
        print(" ".join(f"{head:>9}" for head in heads))
        slow = False
        for what in ("messages", "chats"):
            seconds, cpu, peak, rows, sampled, size = measure(folder, folder / f"{what}.jsonl")
            slow = slow or (what == "messages" and seconds > BOUND_SECONDS)
            print(
                f"{what:>9} {rows:9,.0f} {sampled:9,.0f} {size / MIB:9.1f} {seconds:9.2f} "
                f"{cpu:9.2f} {peak / MIB:9.0f}"
            )
    sys.exit(slow)


if __name__ == "__main__":
    main()
