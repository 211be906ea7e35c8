"""Judge the trained model, and the model before training, on the test split.

    python evaluate.py
    python evaluate.py --model ../other   # the same rows with another model; only printed

Reads run/merged, the base model and run/data. Writes run/evaluate: report.json, and
predictions.jsonl with the margin of each pair. Then writes run/report.md.
"""

import argparse
import math
from pathlib import Path

from runtime.evaluate import preferences
from runtime.files import write_json, write_rows
from runtime.metric import metrics
from runtime.reports.report import write_report
from runtime.run import Run

HERE = Path(__file__).resolve().parent
MERGED = HERE / "run" / "merged"
OUT = HERE / "run" / "evaluate"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

BASE = "HuggingFaceTB/SmolLM2-1.7B-Instruct"
BASE_REVISION = None
BETA = 0.1  # the value in the experiments of the DPO paper
ATTENTION = "sdpa"  # PyTorch's own attention kernel, which needs no other package
DTYPE = "auto"  # as the weights are saved
DEVICE = "auto"  # spread over the GPUs if one is too small

# -----------------------------------------------------------------------------
# Arguments, and a check for current results

parser = argparse.ArgumentParser(description="Judge the model on the test split.")
parser.add_argument("--model", type=Path, default=MERGED, help="the folder of the model to judge")
parser.add_argument("--base", default=BASE, help="the folder of the model before training")
args = parser.parse_args()
run = Run(HERE, stage="evaluate")
test_file = HERE / "run/data/test.jsonl"
is_result = args.model.resolve() == MERGED.resolve()
if not (args.model / "config.json").is_file():
    run.stop(f"{args.model} contains no model: run the stages before this one (see run.sh)")
run.need_model(args.base, BASE, option="--base")
if is_result:
    run.begin()
    for stage in ("prepare", "train", "merge"):
        run.check_current(stage)
    inputs = [MERGED, test_file, args.base]
    identity = run.identify(*inputs)
    if run.is_done(identity):
        raise SystemExit

# -----------------------------------------------------------------------------
# Judge one model at a time on the same rows, the shortest first

from transformers import AutoTokenizer  # noqa: E402 - slow

from runtime.evaluate import judging  # noqa: E402

tokenizer = AutoTokenizer.from_pretrained(args.model)
pad = judging.choose_padding(tokenizer)
rows = sorted(run.read_rows(test_file), key=lambda row: len(row["input_ids"]))
sequences = [(row["input_ids"], row["labels"]) for row in rows]
rejected = preferences.list_rejected(rows)


def examine(source, dtype, **options):
    """Return the results of a model on the rows, by name: its losses, and its answers if any."""
    model = judging.load(source, dtype=dtype, attention=ATTENTION, device=DEVICE, **options)
    nats, tokens = judging.measure_loss(model, sequences, pad)
    found = {"dtype": model.dtype, "nats": nats, "tokens": tokens}
    nats, tokens = judging.measure_loss(model, rejected, pad)
    found |= {"rejected_nats": nats, "rejected_tokens": tokens}
    return found


def measure(found):
    """Return what was measured of a model, by name; the first number decides the verdict."""
    measured = preferences.measure_likelier(found)
    return {**measured, "loss": metrics.loss(found["nats"], found["tokens"])}


after = examine(args.model, DTYPE)
base_options = {"revision": BASE_REVISION} if args.base == BASE else {}
measured, before = measure(after), None
before = examine(args.base, after["dtype"], **base_options)  # rewards are relative to it
measured |= preferences.measure_rewards(after, before, BETA)
against = before and measure(before)
report = {
    "rows": len(rows),
    **metrics.describe(measured, against, "the model before training"),
    "tokens": sum(after["tokens"]),
}
report["perplexity"] = metrics.perplexity(measured["loss"].value)
report |= {"chance": 0.5, "chance_verdict": preferences.beats(measured["reward_accuracy"], 0.5)}

# -----------------------------------------------------------------------------
# Print and write

for line in metrics.lines(report):
    run.say(line)
run.ensure(math.isfinite(measured["loss"].value), "the test loss is a finite number")
if is_result:
    write_json(OUT / "report.json", report)
    predictions = preferences.list_predictions(rows, tokenizer, after, before)
    write_rows(OUT / "predictions.jsonl", predictions)
    written = ("report.json", "predictions.jsonl")
    run.mark_done(identity, *(OUT / name for name in written))
    write_report(run)
