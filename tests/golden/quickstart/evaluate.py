"""Judge the trained model, and the model before training, on the test split.

    python evaluate.py
    python evaluate.py --model ../other   # the same rows with another model; only printed

Reads run/merged, the base model and run/data. Writes run/evaluate: report.json, and
predictions.jsonl with the answers of both models. Then writes run/report.md.
"""

import argparse
import math
from collections import Counter
from pathlib import Path

import runtime.metric.accuracy as metric
from runtime.files import write_json, write_rows
from runtime.metric import label_metrics, metrics
from runtime.reports.report import write_report
from runtime.run import Run

HERE = Path(__file__).resolve().parent
MERGED = HERE / "run" / "merged"
OUT = HERE / "run" / "evaluate"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

BASE = "../../../examples/quickstart/model"
ATTENTION = "sdpa"  # PyTorch's own attention kernel, which needs no other package
DTYPE = "float32"  # on a CPU 16-bit arithmetic is slower and no smaller
DEVICE = "cpu"
METRIC = "accuracy"  # the answers are 12 labels, so an answer is right or wrong
ANSWER_TOKENS = 15  # the longest label has 15 characters
JUDGED_ROWS = 300  # every row of the test split

# -----------------------------------------------------------------------------
# Arguments, and a check for current results

parser = argparse.ArgumentParser(description="Judge the model on the test split.")
parser.add_argument("--model", type=Path, default=MERGED, help="the folder of the model to judge")
parser.add_argument("--base", type=Path, default=HERE / BASE, help="the model before training")
args = parser.parse_args()
run = Run(HERE, stage="evaluate")
test_file = HERE / "run/data/test.jsonl"
is_result = args.model.resolve() == MERGED.resolve()
if not (args.model / "config.json").is_file():
    run.stop(f"{args.model} contains no model: run the stages before this one (see run.sh)")
if is_result:
    run.need_model(args.base, option="--base")
    run.begin()
    for stage in ("prepare", "train", "merge"):
        run.check_current(stage)
    inputs = [MERGED, test_file, args.base]
    inputs += [HERE / "run/data/train.jsonl"]
    identity = run.identify(*inputs)
    if run.is_done(identity):
        raise SystemExit

# -----------------------------------------------------------------------------
# Judge one model at a time on the same rows, the shortest first

from transformers import AutoTokenizer  # noqa: E402 - slow

from runtime.evaluate import answers, judging  # noqa: E402

tokenizer = AutoTokenizer.from_pretrained(args.model)
pad = judging.choose_padding(tokenizer)
rows = sorted(run.read_rows(test_file), key=lambda row: len(row["input_ids"]))
asked = judging.select_rows(rows, JUDGED_ROWS)
right = [row["answer"] for row in asked]
sequences = [(row["input_ids"], row["labels"]) for row in rows]


def examine(source, dtype, **options):
    """Return the results of a model on the rows, by name: its losses, and its answers if any."""
    model = judging.load(source, dtype=dtype, attention=ATTENTION, device=DEVICE, **options)
    nats, tokens = judging.measure_loss(model, sequences, pad)
    found = {"dtype": model.dtype, "nats": nats, "tokens": tokens}
    found["said"] = answers.write(model, tokenizer, asked, ANSWER_TOKENS)
    return found


def measure(found):
    """Return what was measured of a model, by name; the first number decides the verdict."""
    measured = label_metrics.measure(found["said"], right, first=METRIC)
    return {**measured, "loss": metrics.loss(found["nats"], found["tokens"])}


after = examine(args.model, DTYPE)
measured, before = measure(after), None
if is_result:
    before = examine(args.base, after["dtype"])
against = before and measure(before)
report = {
    "rows": len(rows),
    **metrics.describe(measured, against, "the model before training"),
    "tokens": sum(after["tokens"]),
}
report["perplexity"] = metrics.perplexity(measured["loss"].value)
known = Counter(row["answer"] for row in run.read_rows(HERE / "run/data/train.jsonl"))
report |= label_metrics.describe_chance(after["said"], right, known)

# -----------------------------------------------------------------------------
# Print and write

for line in metrics.lines(report):
    run.say(line)
run.ensure(math.isfinite(measured["loss"].value), "the test loss is a finite number")
if is_result:
    write_json(OUT / "report.json", report)
    write_rows(OUT / "labels.jsonl", label_metrics.by_label(after["said"], right))
    both = after["said"], before["said"]
    predictions = answers.list_predictions(asked, tokenizer, metric.grade, *both)
    write_rows(OUT / "predictions.jsonl", predictions)
    written = ("report.json", "labels.jsonl", "predictions.jsonl")
    run.mark_done(identity, *(OUT / name for name in written))
    write_report(run)
