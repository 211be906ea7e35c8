"""Ask the fine-tuned model one question, as it was trained to be asked.

    python ask.py "my card has not arrived"
    python ask.py "my card has not arrived" --type F16

Prints the answer and nothing else.
"""

import argparse
from pathlib import Path

from llama_cpp.llama_chat_format import Jinja2ChatFormatter

import guard
import reader

HERE = Path(__file__).resolve().parent

# -----------------------------------------------------------------------------
# What was decided, and why

NAME = "llama-nvme"
TYPES = ["Q8_0"]
CONTEXT_TOKENS = 4096
ANSWER_TOKENS = 512

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Ask the fine-tuned model one question.")
parser.add_argument("question")
parser.add_argument("--type", choices=TYPES, default=TYPES[-1], help="which GGUF answers")
args = parser.parse_args()
path = HERE / "run" / "quantize" / f"{NAME}-{args.type}.gguf"
if not path.is_file():
    guard.stop(f"{path.relative_to(HERE)} is missing: run quantize.py first (see run.sh)")

# -----------------------------------------------------------------------------
# Ask

messages = [{"role": "user", "content": args.question.strip()}]
llm = reader.load(path, CONTEXT_TOKENS)
formatter = Jinja2ChatFormatter(
    template=llm.metadata["tokenizer.chat_template"],
    eos_token=llm._model.token_get_text(llm.token_eos()),
    bos_token=llm._model.token_get_text(llm.token_bos()),
)
prompt = formatter(messages=messages).prompt
ids = llm.tokenize(prompt.encode(), add_bos=False, special=True)
if len(ids) + ANSWER_TOKENS > CONTEXT_TOKENS:
    guard.stop(f"the question has {len(ids):,} tokens: {CONTEXT_TOKENS - ANSWER_TOKENS:,} fit")
print(reader.answer(llm, ids, ANSWER_TOKENS))
