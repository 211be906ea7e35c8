"""Judge the result on the test split, whose rows training never saw.

    python evaluate.py
    python evaluate.py --model ../base   # the same rows with another model; only printed

Reads run/merged and run/data. Writes run/evaluate/report.json and predictions.jsonl.
"""

import argparse
import math
from collections import Counter
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import guard

HERE = Path(__file__).resolve().parent
MERGED = HERE / "run" / "merged"
OUT = HERE / "run" / "evaluate"

# -----------------------------------------------------------------------------
# What was decided, and why

ATTENTION = "sdpa"  # PyTorch's own kernel, which needs nothing installed beyond torch
ANSWER_TOKENS = 15  # the longest label has 15 characters
DTYPE = "auto"  # as the weights are saved
BATCH_ROWS = 16
NOT_LEARNED = -100

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Judge the model on the test split.")
parser.add_argument("--model", type=Path, default=MERGED, help="the folder of the model to judge")
args = parser.parse_args()
if not (args.model / "config.json").is_file():
    guard.stop(f"{args.model} holds no model: run merge.py first (see run.sh)")

test_file = HERE / "run/data/test.jsonl"
is_result = args.model.resolve() == MERGED
if is_result:
    guard.lock()
    mark = guard.fingerprint(__file__, MERGED, test_file)
    if guard.is_done("evaluate", mark):
        raise SystemExit

# -----------------------------------------------------------------------------
# The model

tokenizer = AutoTokenizer.from_pretrained(args.model)
device = "auto"  # spread over the GPUs if one is too small
model = AutoModelForCausalLM.from_pretrained(
    args.model,
    dtype=DTYPE,
    attn_implementation=ATTENTION,
    device_map=device,
)
model.eval()
pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
rows = guard.read_rows(test_file)
rows.sort(key=lambda row: len(row["input_ids"]))
batches = [rows[i : i + BATCH_ROWS] for i in range(0, len(rows), BATCH_ROWS)]


def stack(lists, value, left=False):
    """Pad lists of tokens to one tensor."""
    width = max(map(len, lists))
    fill = [[value] * (width - len(item)) for item in lists]
    padded = [f + item if left else item + f for f, item in zip(fill, lists, strict=True)]
    return torch.tensor(padded, device=model.device)


# -----------------------------------------------------------------------------
# Loss: the mean over the learned tokens, and perplexity, its exponential

nats, tokens = 0.0, 0
with torch.inference_mode():
    for batch in batches:
        ids = stack([row["input_ids"] for row in batch], pad)
        labels = stack([row["labels"] for row in batch], NOT_LEARNED)[:, 1:]
        reads = stack([[1] * len(row["input_ids"]) for row in batch], 0)
        logits = model(input_ids=ids, attention_mask=reads).logits[:, :-1].float()
        nats += torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=NOT_LEARNED, reduction="sum"
        ).item()
        tokens += (labels != NOT_LEARNED).sum().item()
loss = nats / tokens
report = {"rows": len(rows), "tokens": tokens, "loss": loss, "perplexity": math.exp(min(loss, 700))}

# -----------------------------------------------------------------------------
# Accuracy: the answer that the model finds most likely, word for word

ends = model.generation_config.eos_token_id
ends = set(ends if isinstance(ends, list) else [ends]) | {tokenizer.eos_token_id}
ends |= {row["labels"][-1] for row in rows if row["labels"][-1] in tokenizer.all_special_ids}
predictions = []
for batch in batches:
    ids = stack([row["prompt_ids"] for row in batch], pad, left=True)
    reads = stack([[1] * len(row["prompt_ids"]) for row in batch], 0, left=True)
    written = model.generate(
        input_ids=ids,
        attention_mask=reads,
        max_new_tokens=ANSWER_TOKENS,
        do_sample=False,
        eos_token_id=sorted(ends - {None}),
        pad_token_id=pad,
    )[:, ids.shape[1] :]
    texts = tokenizer.batch_decode(written, skip_special_tokens=True)
    predictions += [text.strip() for text in texts]

answers = [row["answer"] for row in rows]
known = Counter(row["answer"] for row in guard.read_rows(HERE / "run/data/train.jsonl"))
most_common = known.most_common(1)[0][0]
right = [said == answer for said, answer in zip(predictions, answers, strict=True)]


def f1(label):
    """Return the harmonic mean of precision and recall of one label."""
    hits = sum(ok and answer == label for ok, answer in zip(right, answers, strict=True))
    return 2 * hits / (predictions.count(label) + answers.count(label))


report |= {
    "accuracy": sum(right) / len(rows),
    "macro_f1": sum(map(f1, set(answers))) / len(set(answers)),
    "chance": 1 / len(known),
    "majority_class": answers.count(most_common) / len(rows),
    "labels": len(known),
}

# -----------------------------------------------------------------------------
# Say it, and write it

for name, number in report.items():
    guard.say(f"{name:>16}  {number:,}" if isinstance(number, int) else f"{name:>16}  {number:.4f}")
guard.ensure(math.isfinite(loss), "the test loss is a number")
if is_result:
    guard.write_json(OUT / "report.json", report)
    told = [
        {"prompt_ids": row["prompt_ids"], "answer": row["answer"], "said": said}
        for row, said in zip(rows, predictions, strict=True)
    ]
    guard.write_rows(OUT / "predictions.jsonl", told)
    guard.mark_done("evaluate", mark, OUT / "report.json", OUT / "predictions.jsonl")
