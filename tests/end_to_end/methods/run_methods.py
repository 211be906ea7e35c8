"""Run bundles in one process: prepare, train, merge; say what moved and whether merging is right.

    python -m tests.end_to_end.methods.run_methods BUNDLE...

A line of JSON each: the losses, how far merged and base are from what was trained (nats per token),
and which matrices of the merged model are no longer the base's.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.end_to_end.stages import run_stage

ROWS = 6


@torch.no_grad()
def answers(model: Any, rows: list[list[int]]) -> list[torch.Tensor]:
    """Return the log-probabilities of every next token."""
    model.eval()
    logits = [model(torch.tensor([ids])).logits[0].float() for ids in rows]
    return [torch.log_softmax(row, dim=-1) for row in logits]


def distance(first: list[torch.Tensor], second: list[torch.Tensor]) -> float:
    """Return the mean KL divergence of the second from the first."""
    pairs = zip(first, second, strict=True)
    return torch.cat([(p.exp() * (p - q)).sum(dim=-1) for p, q in pairs]).mean().item()


def peaks(trainer: Any) -> dict[str, list[float]]:
    """Return the peak rates of the weights that each part of a model has."""
    rates = {
        id(weight): group["initial_lr"]
        for group in trainer.optimizer.param_groups
        for weight in group["params"]
    }
    found: dict[str, set[float]] = {}
    for name, weight in trainer.model.named_parameters():
        if weight.requires_grad:
            parts = ("lora_A", "lora_B", "lora_magnitude_vector", "embed_tokens", "lm_head")
            part = next((part for part in parts if part in name), "other")
            found.setdefault(part, set()).add(rates[id(weight)])
    return {part: sorted(rates) for part, rates in found.items()}


def judge(bundle: Path) -> dict[str, Any]:
    """Return what became of one bundle."""
    run_stage(bundle, "prepare.py")
    lines = (bundle / "run/data/train.jsonl").read_text(encoding="utf-8").splitlines()[:ROWS]
    rows = [json.loads(line)["input_ids"] for line in lines]
    names = run_stage(bundle, "train.py")
    words = names.get("NEW_TOKENS", [])
    trained = answers(names["trainer"].model, rows)
    weights = names["trainer"].model.parameters()
    moving = {name for name, weight in names["model"].named_parameters() if weight.requires_grad}
    run_stage(bundle, "export.py", "--merge")
    base = AutoModelForCausalLM.from_pretrained(names["source"], dtype=torch.float32)
    merged = AutoModelForCausalLM.from_pretrained(bundle / "run/merged", dtype=torch.float32)
    base_rows = base.get_input_embeddings().num_embeddings
    tokenizer = AutoTokenizer.from_pretrained(bundle / "run/merged")
    if words:  # each begins near the mean of the others
        base.resize_token_embeddings(len(tokenizer))
    head = merged.get_output_embeddings().weight  # type: ignore[no-untyped-call]
    start = base.get_output_embeddings().weight  # type: ignore[no-untyped-call]
    after = merged.state_dict()
    kept = {
        name
        for name, weight in base.state_dict().items()
        if weight.shape == after[name].shape and torch.equal(weight.half(), after[name].half())
    }
    report = json.loads((bundle / "run/train/curve.json").read_text(encoding="utf-8"))
    return {
        "name": bundle.name,
        "losses": [loss for _, loss in report["train"]],
        "merged": distance(trained, answers(merged, rows)),
        "base": distance(trained, answers(base, rows)),
        "pieces": {word: len(tokenizer.tokenize(word)) for word in words},
        "rows": len(head),
        "base_rows": base_rows,
        "drift": (head[base_rows:] - start[base_rows:]).abs().max().item() if words else 0,
        "moved": sorted(set(after) - kept),
        "kept": sorted(kept),
        "moving": sorted(moving),
        "trainable": sum(weight.numel() for weight in weights if weight.requires_grad),
        "optimizer": type(names["trainer"].optimizer.optimizer).__name__,
        "peaks": peaks(names["trainer"]),
        "rate": [
            log["learning_rate"]
            for log in names["trainer"].state.log_history
            if "learning_rate" in log
        ],
    }


for path in [Path(argument).resolve() for argument in sys.argv[1:]]:
    print(json.dumps(judge(path)), flush=True)  # noqa: T201 - what the test reads
