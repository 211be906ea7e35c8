"""Ask the fine-tuned model one question, in the format that it was trained with.

    python ask.py "my card has not arrived"
    python ask.py "my card has not arrived" --type TYPE   # another GGUF file

Prints the answer and nothing else.
"""

import argparse
from pathlib import Path

from runtime.run import Run

HERE = Path(__file__).resolve().parent
NAME = "shop-mixture"
TYPES = ["Q8_0"]
CONTEXT_TOKENS = 2048
ON_GPU = True  # all layers, if llama.cpp was built for a GPU
ANSWER_TOKENS = 512

parser = argparse.ArgumentParser(description="Ask the fine-tuned model one question.")
parser.add_argument("question")
parser.add_argument("--type", choices=TYPES, default=TYPES[0], help="which GGUF file answers")
args = parser.parse_args()
run = Run(HERE, stage="ask")
path = HERE / "run" / "quantize" / f"{NAME}-{args.type}.gguf"
if not path.is_file():
    run.stop(f"{path.relative_to(HERE)} is missing: run export.py first (see run.sh)")
for stage in ("prepare", "train", "merge", "quantize"):
    run.check_current(stage)
run.check_outputs(path)

from runtime.llama_cpp import gguf_file  # noqa: E402

messages = [{"role": "user", "content": args.question.strip()}]
llm = gguf_file.load(run, path, CONTEXT_TOKENS, on_gpu=ON_GPU)
ids = gguf_file.tokenize(llm, messages)
if len(ids) + ANSWER_TOKENS > CONTEXT_TOKENS:
    most = CONTEXT_TOKENS - ANSWER_TOKENS
    run.stop(f"the question has {len(ids):,} tokens, and at most {most:,} fit")
print(gguf_file.answer(run, llm, ids, ANSWER_TOKENS))
