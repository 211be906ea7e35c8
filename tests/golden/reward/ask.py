"""Ask the reward model how good an answer is.

    python ask.py "my card has not arrived" "It is on its way: please wait until Monday."

Prints the reward and nothing else: of two answers to one question, the better has the higher one.
"""

import argparse
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import guard

HERE = Path(__file__).resolve().parent

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Ask the reward model how good an answer is.")
parser.add_argument("question")
parser.add_argument("answer")
args = parser.parse_args()
path = HERE / "run" / "merged"
if not (path / "config.json").is_file():
    guard.stop("run/merged is missing: run merge.py first (see run.sh)")

# -----------------------------------------------------------------------------
# Ask

messages = [{"role": "user", "content": args.question.strip()}]
tokenizer = AutoTokenizer.from_pretrained(path)
model = AutoModelForSequenceClassification.from_pretrained(
    path, dtype="auto", use_safetensors=True
)
messages.append({"role": "assistant", "content": args.answer.strip()})
text = tokenizer.apply_chat_template(messages, tokenize=False).rstrip()
ids = tokenizer(text, add_special_tokens=False)["input_ids"]
with torch.inference_mode():
    print(f"{model(torch.tensor([ids])).logits.item():.4f}")
