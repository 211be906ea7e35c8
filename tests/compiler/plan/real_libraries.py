"""The allocations of the real libraries that a plan predicts; prints bytes as JSON.

    python -m tests.compiler.plan.real_libraries FOLDER CASES_AS_JSON

Runs on a CPU. Memory of the host is that of the process which is no page of a file.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from transformers import (
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)
from transformers.masking_utils import create_causal_mask, create_sliding_window_causal_mask

from benchmarks.storages import Storages


def read_own_bytes() -> int:
    """Return the memory of this process that is no page of a file."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    [line] = (line for line in lines if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


def measure_buckets(sides: int) -> dict[str, int]:
    """Return the bytes of a linear module's weight, and the bytes that DDP keeps after a pass."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
    store = distributed.HashStore()  # type: ignore[attr-defined]
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    model = torch.nn.Linear(sides, sides, bias=False)
    before = read_own_bytes()
    wrapped = DistributedDataParallel(model)
    wrapped(torch.ones(1, sides)).sum().backward()  # which writes to the buckets
    wrapped.zero_grad()
    taken = read_own_bytes() - before
    distributed.destroy_process_group()
    return {"weights": 4 * sum(p.numel() for p in wrapped.parameters()), "taken": taken}


def measure_experts(config: dict[str, Any], rank: int) -> dict[str, int]:
    """Return how many more bytes a step takes where the experts have adapters as well.

    Of what a forward pass keeps, and of the peak of a step that recomputes every layer.
    """
    kept, peaks = [], []
    for targets in ([], ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]):
        for recomputes in (False, True):
            torch.manual_seed(0)
            model: Any = Qwen3MoeForCausalLM(Qwen3MoeConfig(**config))
            model = model.to(torch.bfloat16)
            options = LoraConfig(
                r=rank, target_modules=["q_proj"], target_parameters=targets, task_type="CAUSAL_LM"
            )
            adapted: Any = get_peft_model(model, options, autocast_adapter_dtype=False)
            if recomputes:
                adapted.enable_input_require_grads()
                adapted.activation_checkpointing_enable()
            adapted.train()
            with Storages(adapted.parameters()) as storages:
                loss = adapted(input_ids=torch.arange(8)[None], labels=torch.arange(8)[None]).loss
                if not recomputes:
                    kept.append(storages.count_bytes())
                    continue
                loss.backward()
            peaks.append(storages.peak_bytes)
    return {"kept": kept[1] - kept[0], "peak": peaks[1] - peaks[0]}


def find_masks(window: int, lengths: list[int]) -> list[list[bool]]:
    """Return whether a layer gets a mask for single rows: with a window, and without."""
    config = Gemma3TextConfig(num_hidden_layers=6, sliding_window=window, hidden_size=64)
    config._attn_implementation = "sdpa"
    found = []
    for length in lengths:
        given: dict[str, Any] = {
            "config": config,
            "inputs_embeds": torch.zeros(1, length, 64),
            "attention_mask": torch.ones(1, length, dtype=torch.long),
            "past_key_values": None,
        }
        makers = (create_sliding_window_causal_mask, create_causal_mask)
        found.append([make(**given) is not None for make in makers])
    return found


def measure_loading(folder: Path, dense: dict[str, Any], sparse: dict[str, Any]) -> dict[str, int]:
    """Return the bytes of the host that loading a 16-bit model takes, in 16 bits and in fp32."""
    kinds: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "dense": (LlamaForCausalLM, LlamaConfig, dense),
        "sparse": (Qwen3MoeForCausalLM, Qwen3MoeConfig, sparse),
    }
    for name, (kind, settings, config) in kinds.items():
        kind(settings(**config)).to(torch.bfloat16).save_pretrained(folder / name)
    found = {}
    for name, dtype in (("dense", "bfloat16"), ("dense", "float32"), ("sparse", "bfloat16")):
        before = read_own_bytes()
        model = kinds[name][0].from_pretrained(folder / name, dtype=dtype)
        found[f"{name} {dtype}"] = read_own_bytes() - before
        del model
    return found


def main() -> None:
    """Print everything that was measured."""
    folder, cases = Path(sys.argv[1]), json.loads(sys.argv[2])
    found = {
        "buckets": measure_buckets(cases["sides"]),
        "experts": measure_experts(cases["sparse"], cases["rank"]),
        "masks": find_masks(cases["window"], cases["lengths"]),
        "loading": measure_loading(folder, cases["dense"], cases["sparse"]),
    }
    print(json.dumps(found))  # noqa: T201


if __name__ == "__main__":
    main()
