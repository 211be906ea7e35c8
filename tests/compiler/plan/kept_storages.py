"""What a real Llama keeps for its backward pass, recomputed in several ways; prints bytes as JSON.

    python -m tests.compiler.plan.kept_storages WAYS_AS_JSON CASE_AS_JSON

Counts the storages that a forward pass has made and that are still there after it, and the losses
of three steps, and how TRL's switching of recomputing ends. Runs on a CPU in bf16.
"""

import json
import sys
import warnings
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from trl.models.selective_activation_checkpointing import (
    enable_selective_activation_checkpointing,
)
from trl.models.utils import disable_gradient_checkpointing

from benchmarks.storages import Storages

STEPS = 3


def measure(recomputing: Any, config: Any, rows: int, length: int) -> dict[str, Any]:
    """Return the bytes kept by a forward pass of the layers, and the losses of three steps."""
    torch.manual_seed(0)
    model: Any = LlamaForCausalLM(LlamaConfig(**config))
    model = model.to(torch.bfloat16)
    if recomputing == "selective":
        enable_selective_activation_checkpointing(model)
        model.gradient_checkpointing_enable({"selective": True})
    elif recomputing:
        every = 1 if recomputing is True else recomputing
        model.activation_checkpointing_enable(every_n_layers=every)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ids = torch.arange(rows * length).reshape(rows, length) * 7 % config["vocab_size"]
    losses, kept = [], 0
    for _ in range(STEPS):
        with Storages() as storages:
            hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
            kept = storages.count_bytes()
        logits = model.lm_head(hidden).float().flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits[:-1], ids.flatten()[1:])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return {"bytes": kept, "losses": losses}


def switch_off_and_on(config: Any) -> str:
    """Return how a pass ends after TRL has switched recomputing of every other layer off and on."""
    options = {"every_n_layers": 2}
    model: Any = LlamaForCausalLM(LlamaConfig(**config))
    model.activation_checkpointing_enable(**options)
    model.train()
    with disable_gradient_checkpointing(model, options):  # as GRPO, RLOO, DPO and KTO do
        pass
    ids = torch.arange(8)[None]
    try:
        model(input_ids=ids, labels=ids).loss.backward()
    except ValueError as error:
        return str(error)
    return "no error"


if __name__ == "__main__":
    torch.use_deterministic_algorithms(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TRL calls transformers' method by its old name
        ways, told = json.loads(sys.argv[1]), json.loads(sys.argv[2])
        found = [measure(way, *told) for way in ways]
        print(json.dumps({"ways": found, "switched": switch_off_and_on(told[0])}))  # noqa: T201
