"""Ask the fine-tuned model for the label of one text.

    python ask.py "my card has not arrived"

Prints the likeliest labels, at most five, and how likely each is.
"""

import argparse
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import guard

HERE = Path(__file__).resolve().parent

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Ask the fine-tuned model for a label.")
parser.add_argument("text")
args = parser.parse_args()
path = HERE / "run" / "merged"
if not (path / "config.json").is_file():
    guard.stop("run/merged is missing: run merge.py first (see run.sh)")

# -----------------------------------------------------------------------------
# Ask

tokenizer = AutoTokenizer.from_pretrained(path)
model = AutoModelForSequenceClassification.from_pretrained(
    path, dtype="auto", use_safetensors=True
)
with torch.inference_mode():
    scores = model(**tokenizer(args.text.strip(), return_tensors="pt")).logits[0].float()
shares, numbers = scores.softmax(-1).topk(min(5, len(scores)))
for share, number in zip(shares.tolist(), numbers.tolist(), strict=True):
    print(f"{share:6.1%}  {model.config.id2label[number]}")
