"""Ask the fine-tuned model for the label of one text.

    python ask.py "my card has not arrived"

Prints the most likely labels, at most five, and how likely each is.
"""

import argparse
from pathlib import Path

from runtime.run import Run

HERE = Path(__file__).resolve().parent

parser = argparse.ArgumentParser(description="Ask the fine-tuned model for a label.")
parser.add_argument("text")
args = parser.parse_args()
run = Run(HERE, stage="ask")
path = HERE / "run" / "merged"
if not (path / "config.json").is_file():
    run.stop("run/merged is missing: run `python export.py --merge` first (see run.sh)")
for stage in ("prepare", "train", "merge"):
    run.check_current(stage)
run.check_outputs(path)

from runtime.ask import ask_scores  # noqa: E402 - slow: it imports torch

model, tokenizer = ask_scores.load(path)
for label, share in ask_scores.rank_labels(model, tokenizer, args.text.strip()):
    print(f"{share:6.1%}  {label}")
