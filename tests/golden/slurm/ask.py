"""Ask the fine-tuned model one question, as it was trained to be asked.

    python ask.py "my card has not arrived"

Prints the answer and nothing else.
"""

import argparse
from pathlib import Path

from transformers import AutoModelForCausalLM, AutoTokenizer

import guard

HERE = Path(__file__).resolve().parent

# -----------------------------------------------------------------------------
# What was decided, and why

ANSWER_TOKENS = 512

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Ask the fine-tuned model one question.")
parser.add_argument("question")
args = parser.parse_args()
path = HERE / "run" / "merged"
if not (path / "config.json").is_file():
    guard.stop("run/merged is missing: run merge.py first (see run.sh)")

# -----------------------------------------------------------------------------
# Ask

messages = [{"role": "user", "content": args.question.strip()}]
tokenizer = AutoTokenizer.from_pretrained(path)
model = AutoModelForCausalLM.from_pretrained(path, dtype="auto", use_safetensors=True)
prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
inputs = tokenizer(prompt, add_special_tokens=False, return_tensors="pt")
written = model.generate(**inputs, max_new_tokens=ANSWER_TOKENS, do_sample=False)
answer = written[0, inputs["input_ids"].shape[1] :]
print(tokenizer.decode(answer, skip_special_tokens=True).strip())
