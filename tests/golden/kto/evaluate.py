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

BASE = "HuggingFaceTB/SmolLM2-1.7B-Instruct"
BASE_REVISION = None
BETA = 0.1  # the strength of the DPO paper's experiments
ATTENTION = "sdpa"  # PyTorch's own kernel, which needs nothing installed beyond torch
DTYPE = "auto"  # as the weights are saved
BATCH_ROWS = 16
NOT_LEARNED = -100

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Judge the model on the test split.")
parser.add_argument("--model", type=Path, default=MERGED, help="the folder of the model to judge")
parser.add_argument("--base", default=BASE, help="another folder to compare with")
args = parser.parse_args()
if not (args.model / "config.json").is_file():
    guard.stop(f"{args.model} holds no model: run merge.py first (see run.sh)")
guard.need_model(args.base, BASE)

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
# Rewards: BETA times what an answer has become more likely by than the base finds it


def likelihoods(sequences):
    """Return the log-probability of what is learned of each sequence, given as ids and labels."""
    found = []
    for start in range(0, len(sequences), BATCH_ROWS):
        ids, labels = zip(*sequences[start : start + BATCH_ROWS], strict=True)
        reads = stack([[1] * len(tokens) for tokens in ids], 0)
        with torch.inference_mode():
            logits = model(input_ids=stack(ids, pad), attention_mask=reads).logits[:, :-1]
            nats = torch.nn.functional.cross_entropy(
                logits.float().transpose(1, 2), stack(labels, NOT_LEARNED)[:, 1:],
                ignore_index=NOT_LEARNED, reduction="none",
            )
        found += (-nats.sum(dim=1)).tolist()
    return torch.tensor(found)


first = [(row["input_ids"], row["labels"]) for row in rows]
trained = likelihoods(first)
del model  # before the base is loaded
base_options = {"revision": BASE_REVISION} if args.base == BASE else {}
model = AutoModelForCausalLM.from_pretrained(
    args.base,
    dtype=DTYPE,
    attn_implementation=ATTENTION,
    device_map=device,
    use_safetensors=True,
    **base_options,
)
model.eval()
rewards = BETA * (trained - likelihoods(first))
desirable = torch.tensor([row["label"] for row in rows])
chosen, rejected = rewards[desirable], rewards[~desirable]
# of all pairs of a desirable and an undesirable answer the share that is told apart
report["reward_accuracy"] = (chosen[:, None] > rejected).float().mean().item()
report |= {
    "reward_margin": (chosen.mean() - rejected.mean()).item(),
    "chosen_reward": chosen.mean().item(),
    "rejected_reward": rejected.mean().item(),
}
guard.ensure(math.isfinite(report["reward_margin"]), "the margin of the rewards is a number")

# -----------------------------------------------------------------------------
# Say it, and write it

for name, number in report.items():
    guard.say(f"{name:>16}  {number:,}" if isinstance(number, int) else f"{name:>16}  {number:.4f}")
guard.ensure(math.isfinite(loss), "the test loss is a number")
if is_result:
    guard.write_json(OUT / "report.json", report)
    guard.mark_done("evaluate", mark, OUT / "report.json")
