"""ftc accepts what `ftc plan` proposes: each kind of change is applied and compiled."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.spec.patch import apply_patch

Call = Callable[..., Any]
BIG = {"model": "Qwen/Qwen2.5-7B-Instruct", "method": "full", "hardware": "H100-SXM5-80GB"}
TIGHT = {"model": "Qwen/Qwen2.5-7B-Instruct", "hardware": "A10G"}

# what the change starts with -> a spec that it makes fit
CASES: Mapping[str, Mapping[str, Any]] = {
    "LoRA instead of a full fine-tune": BIG,
    "2 GPUs": BIG,
    "ZeRO-1": {**BIG, "hardware": "4x H100-SXM5-80GB", "distribution": "ddp"},
    "ZeRO-3": {**BIG, "hardware": "4x A100-40GB", "distribution": "zero2"},
    "optimizer states in the host's memory": BIG,
    "a micro-batch that fits": {
        **TIGHT,
        "data": {"max_length": 2048},
        "training": {"micro_batch": 32, "global_batch": 32},
    },
    "gradient checkpointing": {
        **TIGHT,
        "data": {"max_length": 2048},
        "training": {"gradient_checkpointing": False},
    },
    "AdamW with states in 8 bits": {
        "model": "Qwen/Qwen2.5-3B-Instruct",
        "method": "full",
        "hardware": "A100-40GB",
    },
    "bf16 precision": {**TIGHT, "training": {"precision": "fp32"}},
    "SDPA attention": {
        "hardware": "A10G",
        "model": {"id": "Qwen/Qwen2.5-0.5B-Instruct", "attention": "eager"},
        "data": {"max_length": 16384},
    },
    "max_length ": {**TIGHT, "data": {"max_length": 32768}},
    "gradient checkpointing and ": {
        "model": "Qwen/Qwen2.5-7B-Instruct",
        "hardware": {"gpu": "A10G", "ram_gib": 64},
        "method": "full",
        "data": {"max_length": 4096},
        "training": {"gradient_checkpointing": False, "liger": False},
    },
}


def write_spec(path: Path, edits: Mapping[str, Any]) -> dict[str, Any]:
    """Change the base spec's sections; a section that is an object is merged into the base's."""
    spec: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for name, value in edits.items():
        both = isinstance(value, dict) and isinstance(spec.get(name), dict)
        spec[name] = {**spec[name], **value} if both else value
    if length := edits.get("data", {}).get("max_length"):  # memory is planned for the longest row
        with (path.parent / "tickets.csv").open("a", encoding="utf-8") as stream:
            stream.write("what is a refund?," + "money " * length + "\n")
        spec["data"]["cleaning"] = {"overlong": "truncate"}
    path.write_text(json.dumps(spec), encoding="utf-8")
    return spec


@pytest.mark.parametrize("words", CASES)
def test_each_kind_of_change_is_accepted(call: Call, spec_file: Path, words: str) -> None:
    """Before: FTC420. After: the same peak as promised, no error, and a bundle."""
    spec = write_spec(spec_file, CASES[words])
    before = call("plan", spec_file, "--format", "json")
    assert before.code == 1
    offers = json.loads(before.out)["alternatives"]
    found = [offer for offer in offers if offer["change"].startswith(words)]
    assert found, [offer["change"] for offer in offers]
    fixed = apply_patch(spec, found[0]["fix"])
    spec_file.write_text(json.dumps(fixed), encoding="utf-8")
    after = call("plan", spec_file, "--format", "json")
    data = json.loads(after.out)
    assert after.code == 0, after.out
    assert data["memory"]["per_gpu"]["fits"] is True
    assert data["memory"]["per_gpu"]["device_bytes"] == found[0]["device_bytes"]
    assert data["time_seconds"] == found[0]["time_seconds"]
    compiled = call("compile", spec_file)
    assert compiled.code == 0, compiled.err


def test_the_order_is_by_what_is_given_up(call: Call, spec_file: Path) -> None:
    """The same training first, hardware last; a fix never buys a GPU."""
    write_spec(spec_file, BIG)
    offers = json.loads(call("plan", spec_file, "--format", "json").out)["alternatives"]
    order = ["layout", "method", "data", "hardware"]
    kinds = [offer["kind"] for offer in offers]
    assert kinds == sorted(kinds, key=order.index)
    findings = json.loads(call("check", spec_file, "--format", "json").out)["findings"]
    (finding,) = [finding for finding in findings if finding["code"] == "FTC420"]
    assert finding["fix"] == offers[0]["fix"]
    assert finding["fix"][0]["path"] == "/distribution"


def test_the_gpus_that_would_take_it_do(call: Call, spec_file: Path) -> None:
    """The smallest of the list takes the spec as it is; the largest card below it does not."""
    write_spec(spec_file, BIG)
    plan = json.loads(call("plan", spec_file, "--format", "json").out)
    smallest = plan["fitting_gpus"][0]
    assert call("plan", spec_file, "--set", f"hardware={smallest}").code == 0
    assert "H100-SXM5-80GB" not in plan["fitting_gpus"]
    text = call("plan", spec_file).out
    assert f"  as it is, on 1x {smallest}" in text
