"""What sorting, grouping and packing rows save on real data, and what they cost in quality.

    python -m benchmarks.padding       # writes benchmarks/padding.md and padding.svg

On banking77, whose rows are short, and GSM8K, whose rows are long (../shared/data, or the data
folder that FTC_SHARED names), with the quickstart's model: whole runs over the same rows at the
same learning rate. A hand-written script pads rows in random order; the bundles sort the rows of a
step by length, group fifty steps by length, or pack. Compare the ratios.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import matplotlib.figure

from benchmarks.rehearsals import describe_machine
from benchmarks.throughput import (
    DATA,
    Arm,
    Report,
    decided,
    measure,
    planned_arms,
    read_intents,
    speed,
    write_bundle,
    write_model,
    write_rows,
)
from ftc.runtime.json_lines import read_rows

HERE: Final = Path(__file__).resolve().parent
DRAWN: Final = "by hand, as drawn"
WAYS: Final[Mapping[str, tuple[str, bool]]] = {
    "bundle, sorted in a step": ("none", False),
    "bundle, grouped by length": ("none", True),
    "bundle, packed": ("best-fit", False),
}


def read_problems() -> list[tuple[str, str]]:
    """Return GSM8K: a question, and its worked solution."""
    rows = read_rows(DATA / "gsm8k_train.jsonl")
    return [(row["question"], row["answer"]) for row in rows]


#: The rows of each data set, and how many of them are used.
SETS: Final[Mapping[str, tuple[Callable[[], list[tuple[str, str]]], int]]] = {
    "banking77": (read_intents, 5000),
    "GSM8K": (read_problems, 900),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The results on one data set: tokens per row, the planner's choice, the runs."""

    lengths: Sequence[int]
    chosen: str
    runs: Mapping[str, Report]


def main() -> None:
    """Measure, and write the report beside this file."""
    parser = argparse.ArgumentParser(description="Effect of padding on time and loss.")
    parser.parse_args()
    found = {}
    for name, (read, most) in SETS.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = run_set(Path(folder), name, read(), most)
    draw(found, HERE / "padding.svg")
    text = tell(found)
    (HERE / "padding.md").write_text(text, encoding="utf-8")
    print(text)


def run_set(folder: Path, name: str, rows: Sequence[tuple[str, str]], most: int) -> Found:
    """Run every variant on one data set, one after the other."""
    write_model(folder)
    write_rows(folder / "rows.csv", rows)
    bundles = {
        way: write_bundle(folder, f"way-{number}", spec_of(packing, most, grouped=grouped))
        for number, (way, (packing, grouped)) in enumerate(WAYS.items())
    }
    first = bundles[next(iter(WAYS))]
    arms = {DRAWN: planned_arms(folder, first)[2]}
    for way, bundle in bundles.items():
        arms[way] = Arm(name=way, bundle=bundle, command=(bundle / "train.py",))
    runs = {}
    for way, arm in arms.items():
        runs[way] = measure(arm, held=True)
        print(name, way, json.dumps(runs[way]), flush=True)
    open_spec = spec_of("auto", most, grouped="auto")
    d = decided(write_bundle(folder, "chosen", open_spec))
    chosen = "packed" if d["packing"] != "none" else "grouped" if d["group_by_length"] else "sorted"
    return Found(lengths=sorted(read_lengths(first)), chosen=chosen, runs=runs)


def spec_of(packing: str, most: int, *, grouped: bool | str) -> Mapping[str, Mapping[str, Any]]:
    """Return a spec of one epoch with these padding options."""
    splits = {"test": 0.1, "validation": 0}
    data = {"source": "rows.csv", "max_rows": most, "splits": splits, "packing": packing}
    return {"data": data, "training": {"epochs": 1, "group_by_length": grouped}}


def read_lengths(bundle: Path) -> list[int]:
    """Return the tokens of each row to train on."""
    with (bundle / "run/data/train.jsonl").open(encoding="utf-8") as file:
        return [len(json.loads(line)["input_ids"]) for line in file]


def draw(found: Mapping[str, Found], path: Path) -> None:
    """Draw the held-out loss over tokens and over time, a row of pictures for each data set."""
    figure = matplotlib.figure.Figure(figsize=(10, 4 * len(found)), layout="constrained")
    pictures = figure.subplots(len(found), 2, sharey="row")
    for (by_tokens, by_time), (name, each) in zip(pictures, found.items(), strict=True):
        for way, report in each.runs.items():
            tokens, seconds, losses = zip(*report["curve"], strict=True)
            by_tokens.plot(tokens, losses, marker="o", label=way)
            by_time.plot(seconds, losses, marker="o", label=way)
        by_tokens.set(title=name, xlabel="tokens, without padding", ylabel="held-out loss")
        by_time.set(title=name, xlabel="seconds of training")
        by_tokens.legend()
    figure.savefig(path, metadata={"Date": None})


def tell(found: Mapping[str, Found]) -> str:
    """Return the report as Markdown."""
    lines = [
        "# Padding, packing and grouping on real data",
        "",
        f"`python -m benchmarks.padding` {describe_machine()}",
        "",
        "Whole runs with checkpoints, one epoch each over the same rows at the same learning rate.",
        "The hand-written script has the learning rate, schedule, steps and rows per step of the",
        "first bundle, and pads rows in random order. The bundles also compute the loss on learned",
        "tokens only, and the script does not. Padding tokens are not counted. On a shared",
        "machine, CPU seconds are more reliable than wall time.",
    ]
    for name, each in found.items():
        rows = len(each.lengths)
        high = each.lengths[round(0.95 * (rows - 1))]
        lines += [
            "",
            f"## {name}",
            "",
            f"{rows:,} rows with a median of {statistics.median(each.lengths):.0f} tokens; 95%",
            f"have at most {high}, the longest has {each.lengths[-1]}. Chosen: {each.chosen}.",
            "",
            "| way | steps | tokens/s | of CPU | speed x as drawn | of CPU | held-out loss |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        lines += [tell_run(way, run, each.runs[DRAWN]) for way, run in each.runs.items()]
    lines += ["", "![held-out loss over tokens and over time](padding.svg)", ""]
    return "\n".join(lines)


def tell_run(way: str, run: Report, drawn: Report) -> str:
    """Return the line of one run."""
    walls, computed = speed(run), speed(run, "processor_seconds")
    gains = [walls / speed(drawn), computed / speed(drawn, "processor_seconds")]
    loss = run["curve"][-1][2]
    return (
        f"| {way} | {run['steps'] + 1} | {walls:,.0f} | {computed:,.0f} |"
        f" {gains[0]:.2f} | {gains[1]:.2f} | {loss:.4f} |"
    )


if __name__ == "__main__":
    main()
