"""Judge the result on the test split, whose rows training never saw.

    python evaluate.py
    python evaluate.py --model ../base   # the same rows with another model; only printed

Reads run/merged and run/data/test.jsonl. Writes run/evaluate/report.json.
"""

import argparse
import math
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
    use_safetensors=True,
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
# Say it, and write it

for name, number in report.items():
    guard.say(f"{name:>16}  {number:,}" if isinstance(number, int) else f"{name:>16}  {number:.4f}")
guard.ensure(math.isfinite(loss), "the test loss is a number")
if is_result:
    guard.write_json(OUT / "report.json", report)
    guard.mark_done("evaluate", mark, OUT / "report.json")
