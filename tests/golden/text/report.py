"""Say what the run came to: every stage's time, the loss, and how good the result is.

    python report.py

Reads what the stages noted under run/. Writes run/report.md, which holds the same tables, and
run/curve.png.
"""

import argparse
import json
from pathlib import Path

import matplotlib.figure

import guard

HERE = Path(__file__).resolve().parent
RUN = HERE / "run"

argparse.ArgumentParser(description="Say what the run came to.").parse_args()
guard.lock()
STAGES = ("data", "train", "merged", "evaluate", "quantize")


def read(name):
    """Return what a stage noted."""
    path = RUN / name
    if not path.is_file():
        guard.stop(f"{path.relative_to(HERE)} is missing: run the stages before this one (run.sh)")
    return json.loads(path.read_text(encoding="utf-8"))


def table(title, unit, rows):
    """Return a Markdown table of two columns."""
    width = max(len(name) for name, _ in [(title, ""), *rows])
    lines = [f"| {title:{width}} | {unit:>12} |", f"| {'-' * width} | {'-' * 11}: |"]
    return [*lines, *(f"| {name:{width}} | {value:>12} |" for name, value in rows), ""]


seconds = {stage: read(f"done/{stage}.json")["seconds"] for stage in STAGES}
times = [(stage, f"{spent:,.0f} s") for stage, spent in seconds.items()]
lines = table("stage", "wall time", [*times, ("in all", f"{sum(seconds.values()):,.0f} s")])
curve = read("train/curve.json")
gained = [
    ("before training", f"{curve['before']:.4f}"),
    ("the best checkpoint", f"{curve['best']:.4f}"),
]
lines += table("on the validation split", curve["metric"].replace("_", " "), gained)
files = read("quantize/quality.json")["files"]
judged = read("evaluate/report.json")
loss, perplexity = f"{judged['loss']:.4f}", f"{judged['perplexity']:,.2f}"
lines += table("on the test split", "", [("loss per token", loss), ("perplexity", perplexity)])
drift = [(entry["file"], f"{entry['divergence']:.5f}") for entry in files]
lines += table("nats per token from the trained model", "divergence", drift)
agreed = [(entry["file"], f"{entry['agreement']:.1%}") for entry in files]
lines += table("the same next token as the trained model", "agreement", agreed)
written = {entry["file"]: entry["bytes"] for entry in files}
sizes = [(name, f"{size / 2**20:,.1f} MiB") for name, size in sorted(written.items())]
lines += table("file", "size", sizes)

if (RUN / "train" / "batch.json").is_file():
    for change in read("train/batch.json")["changes"]:
        (rows, passes), (less, more) = change["from"], change["to"]
        size = f"{change['held_bytes'] / 2**30:.2f} GiB held"
        what = f"{rows} rows x {passes} passes, since then {less} x {more}: the same batch"
        lines += [f"Out of memory after step {change['step']:,} ({size}) with {what}.", ""]
axes = matplotlib.figure.Figure(figsize=(8, 4.5), layout="constrained").subplots()
axes.plot(*zip(*curve["train"], strict=True), label="training", linewidth=1)
axes.plot(*zip(*curve["validation"], strict=True), label="validation", marker="o")
axes.set(xlabel="optimiser step", ylabel="loss per token")
axes.legend()
axes.figure.savefig(RUN / "curve.png", dpi=120)
picture = ["![The loss over the steps](curve.png)", ""]
(RUN / "report.md").write_text("\n".join([*lines, *picture]), encoding="utf-8")
guard.say("\n".join(lines))
