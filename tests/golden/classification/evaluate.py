"""Judge the trained model on the test split, which training never saw.

    python evaluate.py
    python evaluate.py --model ../other   # the same rows with another model; only printed

Reads run/merged and run/data. Writes run/evaluate: report.json, labels.jsonl with the numbers of
each label, and predictions.jsonl with the label of each row. Then writes run/report.md.
"""

import argparse
import math
from collections import Counter
from pathlib import Path

from runtime.files import write_json, write_rows
from runtime.metric import label_metrics, metrics
from runtime.reports.report import write_report
from runtime.run import Run

HERE = Path(__file__).resolve().parent
MERGED = HERE / "run" / "merged"
OUT = HERE / "run" / "evaluate"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

ATTENTION = "sdpa"  # PyTorch's own attention kernel, which needs no other package
DTYPE = "auto"  # as the weights are saved
DEVICE = "auto"  # spread over the GPUs if one is too small

# -----------------------------------------------------------------------------
# Arguments, and a check for current results

parser = argparse.ArgumentParser(description="Judge the model on the test split.")
parser.add_argument("--model", type=Path, default=MERGED, help="the folder of the model to judge")
args = parser.parse_args()
run = Run(HERE, stage="evaluate")
test_file = HERE / "run/data/test.jsonl"
is_result = args.model.resolve() == MERGED.resolve()
if not (args.model / "config.json").is_file():
    run.stop(f"{args.model} contains no model: run the stages before this one (see run.sh)")
if is_result:
    run.begin()
    for stage in ("prepare", "train", "merge"):
        run.check_current(stage)
    inputs = [MERGED, test_file, HERE / "run/data/train.jsonl", HERE / "run/data/labels.jsonl"]
    identity = run.identify(*inputs)
    if run.is_done(identity):
        raise SystemExit

# -----------------------------------------------------------------------------
# Judge one model at a time on the same rows, the shortest first

from transformers import AutoModelForSequenceClassification, AutoTokenizer  # noqa: E402 - slow

from runtime.evaluate import judging, label_scores  # noqa: E402

tokenizer = AutoTokenizer.from_pretrained(args.model)
pad = judging.choose_padding(tokenizer)
rows = sorted(run.read_rows(test_file), key=lambda row: len(row["input_ids"]))
right = [row["answer"] for row in rows]
known = Counter(row["answer"] for row in run.read_rows(HERE / "run/data/train.jsonl"))
common = [known.most_common(1)[0][0]] * len(rows)

# The prediction is the label with the highest logit; the loss is averaged over the rows.
model = judging.load(
    args.model,
    kind=AutoModelForSequenceClassification,
    dtype=DTYPE,
    attention=ATTENTION,
    device=DEVICE,
)
after = label_scores.predict(model, rows, pad)
measured = label_metrics.measure(after["said"], right, first="macro_f1")
measured["loss"] = metrics.loss(after["nats"], [1] * len(rows))
baseline = label_metrics.measure(common, right, first="macro_f1")  # the head is new
report = {
    "rows": len(rows),
    **metrics.describe(measured, baseline, "always the most common label"),
    "chance": 1 / len(known),
    "majority_class": baseline["accuracy"].value,
    "majority_macro_f1": baseline["macro_f1"].value,
    "labels": len(known),
}

# -----------------------------------------------------------------------------
# Print and write

for line in metrics.lines(report):
    run.say(line)
run.ensure(math.isfinite(measured["loss"].value), "the test loss is a finite number")
if is_result:
    write_json(OUT / "report.json", report)
    write_rows(OUT / "labels.jsonl", label_metrics.by_label(after["said"], right))
    write_rows(OUT / "predictions.jsonl", label_scores.list_predictions(rows, after["said"]))
    written = ("report.json", "labels.jsonl", "predictions.jsonl")
    run.mark_done(identity, *(OUT / name for name in written))
    write_report(run)
