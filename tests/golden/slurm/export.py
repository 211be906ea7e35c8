"""Export the trained model: write it as one 16-bit folder for transformers.

    python export.py

Reads run/train/model, the base model and run/data. Writes run/merged.
"""

import argparse
from pathlib import Path

from runtime.run import Run

HERE = Path(__file__).resolve().parent
MERGED = HERE / "run" / "merged"
TRAIN_ROWS = HERE / "run" / "data" / "train.jsonl"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
MODEL_REVISION = None
DTYPE = "bfloat16"  # as the base is: llama.cpp reads it without another rounding

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Export the trained model.")
parser.add_argument("--model", default=MODEL, help="the folder of another base model")
parser.add_argument("--merge", action="store_true", help="stop after the merge")
args = parser.parse_args()

# -----------------------------------------------------------------------------
# Merge

run = Run(HERE, stage="merge", script="export.py")
run.need_model(args.model, MODEL)
trained = HERE / "run" / "train" / "model"
if not (trained / "config.json").is_file() and not (trained / "adapter_config.json").is_file():
    run.stop("run/train/model is missing: run train.py first (see run.sh)")
run.begin()
for stage in ("prepare", "train"):
    run.check_current(stage)
options = {"revision": MODEL_REVISION} if args.model == MODEL else {}
identity = run.identify(args.model, trained, TRAIN_ROWS)
if not run.is_done(identity):  # torch is imported only if there is something to do
    from runtime.merge.merging import Job
    from runtime.merge.plain_model import PLAIN_MODEL
    from runtime.merge.whole_merging import cast_weights

    job = Job(run=run, base=args.model, dtype=DTYPE, options=options, kind=PLAIN_MODEL)
    cast_weights(job)
    run.mark_done(identity, MERGED)
