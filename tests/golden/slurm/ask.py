"""Ask the fine-tuned model one question, in the format that it was trained with.

    python ask.py "my card has not arrived"

Prints the answer and nothing else.
"""

import argparse
from pathlib import Path

from runtime.run import Run

HERE = Path(__file__).resolve().parent
ANSWER_TOKENS = 512

parser = argparse.ArgumentParser(description="Ask the fine-tuned model one question.")
parser.add_argument("question")
args = parser.parse_args()
run = Run(HERE, stage="ask")
path = HERE / "run" / "merged"
if not (path / "config.json").is_file():
    run.stop("run/merged is missing: run `python export.py --merge` first (see run.sh)")
for stage in ("prepare", "train", "merge"):
    run.check_current(stage)
run.check_outputs(path)

from runtime.ask import ask_model  # noqa: E402 - slow imports

messages = [{"role": "user", "content": args.question.strip()}]
print(ask_model.answer(path, messages, ANSWER_TOKENS))
