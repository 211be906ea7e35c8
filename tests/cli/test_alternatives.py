"""Each kind of alternative to a run that does not fit compiles."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.plan.summary.alternatives import _EDITS, _RELEASES

Call = Callable[..., Any]
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"

# what the spec says -> words of changes that it must be offered
CASES: tuple[tuple[Mapping[str, Any], tuple[str, ...]], ...] = (
    ({"model": LLAMA, "method": "lora", "hardware": "RTX 4090", "training": {"micro_batch": 64,
     "global_batch": 64, "gradient_checkpointing": False}, "data": {"max_length": 2048}},
     ("a micro-batch that fits and gradient checkpointing",)),
    ({"model": LLAMA, "method": "lora", "hardware": "RTX 4090", "training": {"micro_batch": 16,
     "global_batch": 16}, "data": {"max_length": 8192}},
     ("a micro-batch that fits", "max_length ")),
    ({"model": LLAMA, "method": "lora", "hardware": "RTX 4080"}, ("QLoRA instead of a base",)),
    ({"model": LLAMA, "method": "lora", "hardware": "T4", "training": {"precision": "fp32"}},
     ("QLoRA instead of a base in 32 bits",)),
    ({"model": "google/gemma-2-2b-it", "method": "full", "hardware": "T4",
      "training": {"precision": "fp32"}}, ("QLoRA instead of a full",)),
    ({"model": "Qwen/Qwen2.5-3B-Instruct", "method": "lora", "hardware": "RTX 2080 Ti",
      "training": {"precision": "fp32"}}, ("fp16 precision", "QLoRA instead of a base in 32 bits")),
    ({"model": LLAMA, "method": "lora", "hardware": "T4", "distribution": "zero3"},
     ("QLoRA instead of a base in 16 bits",)),
    ({"model": LLAMA, "method": "lora", "hardware": "T4",
      "distribution": {"strategy": "zero3", "offload": "none"}}, ("QLoRA instead of a base",)),
    ({"model": LLAMA, "method": "lora", "hardware": "T4", "training":
      {"gradient_checkpointing": False}, "data": {"max_length": 2048}},
     ("gradient checkpointing and QLoRA", "gradient checkpointing and weights")),
    ({"model": LLAMA, "method": "full", "hardware": "RTX 4090"},
     ("optimizer states in the host's memory (", "LoRA instead of a full fine-tune",
      "QLoRA instead of a full fine-tune")),
    ({"model": LLAMA, "method": "full", "hardware": "A100-80GB"}, ("2 GPUs with ZeRO-",)),
    ({"model": LLAMA, "method": "full", "hardware": "RTX 3060"},
     ("weights and optimizer states in the host's memory",)),
    ({"model": LLAMA, "method": "full", "hardware": "2x A100-80GB", "distribution": "ddp"},
     ("ZeRO-3", "optimizer states in the host's memory", "LoRA instead")),
    ({"model": LLAMA, "method": "lora", "hardware": "RTX 4090",
      "training": {"precision": "fp32"}}, ("bf16 precision",)),
    ({"model": LLAMA, "method": "lora", "hardware": "RTX 4090", "model_": {"attention": "eager"},
      "data": {"max_length": 8192}, "training": {"gradient_checkpointing": True}},
     ("SDPA attention",)),
    ({"model": "Qwen/Qwen2.5-3B-Instruct", "method": "full", "hardware": "A100-40GB"},
     ("AdamW with states in 8 bits",)),
    ({"model": "HuggingFaceTB/SmolLM2-1.7B-Instruct", "method": "full", "hardware": "RTX 5090",
      "objective": {"type": "dpo", "reference": "copy"}, "data": {"source": "preferences.jsonl"}},
     ("the reference computed before training",)),
    ({"model": "meta-llama/Llama-2-7b-hf", "method": "freeze", "hardware": "RTX 4090"},
     ("training the last 2 layers",)),
    ({"model": "meta-llama/Llama-3.3-70B-Instruct", "method": "qlora", "hardware": "2x RTX 4090"},
     ("LoRA on a 16-bit base",)),
    ({"model": "mistralai/Mixtral-8x7B-Instruct-v0.1", "method": "qlora",
      "hardware": "A100-80GB"}, ("LoRA on a 16-bit base under ZeRO-3 on 2 GPUs",)),
    ({"model": "Qwen/Qwen2.5-0.5B-Instruct", "method": "lora", "hardware": "RTX 4070",
      "objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-7B-Instruct"}},
     ("a teacher in 4 bits",)),
    ({"model": "Qwen/Qwen2.5-7B-Instruct", "method": "lora", "hardware": "RTX 4090",
      "objective": {"type": "grpo", "vllm": "colocate"}}, ("transformers instead of vLLM",)),
    ({"model": "Qwen/Qwen2.5-7B-Instruct", "method": "full", "hardware": "RTX 4090",
      "objective": "embed", "data": {"max_length": 512}, "export": ["F16"]},
     ("LoRA instead of a full fine-tune",)),
)  # fmt: skip


KINDS = (
    "a micro-batch that fits", "gradient checkpointing", "SDPA attention", "bf16 precision",
    "ZeRO-3", "optimizer states in the host's memory", "weights and optimizer states",
    "LoRA instead", "QLoRA instead", "max_length ", " GPUs with ", "AdamW with states in 8 bits",
    "the reference computed before training", "training the last ", "LoRA on a 16-bit base",
    "a teacher in 4 bits", "transformers instead of vLLM",
)  # fmt: skip


def test_every_kind_of_offer_has_a_case() -> None:
    """Each edit that the planner knows is asked for by name below."""
    named = [word for _, words in CASES for word in words]
    assert [kind for kind in KINDS if not any(kind in word for word in named)] == []
    assert len(_RELEASES) + len(_EDITS) <= len(KINDS)  # offloading is two of them


def write(path: Path, edits: Mapping[str, Any]) -> Path:
    """Write the spec of a case beside the fixture's data."""
    spec = json.loads(path.read_text(encoding="utf-8"))
    said = dict(edits)
    model = {"id": said["model"], **said.pop("model_", {})}
    data = said.get("data", {})
    if "source" in data:  # pairs of answers
        pairs = [
            {"prompt": f"Say {n}.", "chosen": f"It is {n}.", "rejected": "I cannot say."}
            for n in range(200)
        ]
        lines = "".join(json.dumps(pair) + "\n" for pair in pairs)
        (path.parent / data["source"]).write_text(lines, encoding="utf-8")
    elif "max_length" in data:  # memory is planned for the longest row
        with (path.parent / "tickets.csv").open("a", encoding="utf-8") as stream:
            stream.write("what is a refund?," + "money " * data["max_length"] + "\n")
        said["data"] = data = {**data, "cleaning": {"overlong": "truncate"}}
    spec |= {**said, "model": model, "data": data if "source" in data else spec["data"] | data}
    path.write_text(json.dumps(spec), encoding="utf-8")
    return path


def apply(spec: dict[str, Any], fix: list[dict[str, Any]]) -> None:
    """Apply a JSON patch of `add` and `replace` operations."""
    for operation in fix:
        *folders, name = operation["path"].removeprefix("/").split("/")
        place = spec
        for folder in folders:
            place = place.setdefault(folder, {})
        assert operation["op"] in ("add", "replace")
        place[name] = operation["value"]


@pytest.mark.parametrize(("edits", "words"), CASES)
def test_every_offer_compiles(
    call: Call, spec_file: Path, edits: Mapping[str, Any], words: tuple[str, ...]
) -> None:
    """Each fix is applied as it stands, and the changed spec compiles without an error."""
    path = write(spec_file, edits)
    plan = json.loads(call("plan", path, "--format", "json").out)
    assert plan["memory"]["per_gpu"]["fits"] is False
    offers = plan["alternatives"]
    changes = [offer["change"] for offer in offers]
    for word in words:
        assert any(word in change for change in changes), changes
    assert not [change for change in changes if change.count("ZeRO-") > 1], changes
    before = path.read_text(encoding="utf-8")
    for offer in offers:
        changed = json.loads(before)
        apply(changed, offer["fix"])
        path.write_text(json.dumps(changed), encoding="utf-8")
        result = call("compile", path, "-o", path.parent / "bundle", "--force")
        assert result.code == 0, (offer, result.err)
        again = json.loads(call("plan", path, "--format", "json").out)
        assert again["memory"]["per_gpu"]["device_bytes"] == offer["device_bytes"]
