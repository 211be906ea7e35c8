"""Objects and lists of other tools in the place of values: GPUs, DeepSpeed configs, sources."""

from typing import Any

import pytest

from ftc.spec.patch import apply_patch
from ftc.spec.validate import judge as judge_data


@pytest.mark.parametrize(
    ("hardware", "fixed"),
    [
        ({"gpus": [0, 1]}, {"count": 2}),
        ({"gpu": "A100", "gpu_ids": "0,1,3"}, {"gpu": "A100", "count": 3}),
        ({"gpus": {"type": "A100", "count": 4}}, {"gpu": "A100", "count": 4}),
        ({"gpus": [{"name": "A100", "count": 2}]}, {"gpu": "A100", "count": 2}),
        ({"gpu": [{"type": "A100", "nodes": 2}]}, {"gpu": "A100", "nodes": 2}),
    ],
)
def test_gpus_as_a_list_or_an_object(hardware: dict[str, Any], fixed: dict[str, Any]) -> None:
    """The numbers of devices are counted; an object in a list is its name and their number."""
    spec = {"name": "x", "model": "m", "data": "a.csv", "hardware": hardware}
    (finding,) = judge_data(spec)
    assert apply_patch(spec, finding.fix)["hardware"] == fixed


@pytest.mark.parametrize("place", ["top", "section"])
def test_a_configuration_of_deepspeed_becomes_its_fields(place: str) -> None:
    """Every key with a field is taken over; the fix is unsafe if a number is left out."""
    config = {
        "zero_optimization": {
            "stage": 3,
            "offload_optimizer": {"device": "cpu"},
            "overlap_comm": 1,
        },
        "bf16": {"enabled": True},
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": 4,
        "gradient_clipping": 0.5,
    }
    spec: dict[str, Any] = {"name": "x", "model": "m", "data": "a.csv", "hardware": "2x A100"}
    spec |= {"deepspeed": config} if place == "top" else {"distribution": {"deepspeed": config}}
    (finding,) = judge_data(spec)
    assert finding.fix_safety == "safe"
    better = apply_patch(spec, finding.fix)
    assert better["distribution"] == {"strategy": "zero3", "offload": "optimizer"}
    assert better["training"] == {
        "precision": "bf16",
        "micro_batch": 2,
        "global_batch": 16,
        "max_grad_norm": 0.5,
    }
    config["train_micro_batch_size_per_gpu"] = "auto"
    (finding,) = judge_data(spec)
    assert finding.fix_safety == "unsafe"


@pytest.mark.parametrize(
    ("data", "sources"),
    [
        (
            {"sources": {"a.csv": 0.7, "b.csv": 0.3}},
            [{"source": "a.csv", "weight": 0.7}, {"source": "b.csv", "weight": 0.3}],
        ),
        (
            [{"a.csv": {"form": "chat"}}, {"b.csv": None}],
            [{"source": "a.csv", "form": "chat"}, {"source": "b.csv"}],
        ),
    ],
)
def test_sources_by_their_names(data: Any, sources: Any) -> None:
    """A name may be the key of its weight or of its settings."""
    spec = {"name": "x", "model": "m", "data": data}
    (finding,) = judge_data(spec)
    assert apply_patch(spec, finding.fix)["data"] == {"sources": sources}


def test_a_scheduler_is_of_the_rate_where_its_name_says_so() -> None:
    """`scheduler` also means the launch, which has no `cosine`."""
    spec: dict[str, Any] = {"name": "x", "model": "m", "data": "a.csv"}
    spec["scheduler"] = {"name": "cosine", "warmup_ratio": 0.03}
    (finding,) = judge_data(spec)
    better = apply_patch(spec, finding.fix)
    assert better["training"] == {"schedule": "cosine", "warmup": 0.03}
    spec["scheduler"] = {"type": "slurm", "partition": "gpu"}
    (finding,) = judge_data(spec)
    assert apply_patch(spec, finding.fix)["launch"] == {"type": "slurm", "partition": "gpu"}


def test_a_key_inside_a_section_that_is_missing_is_not_missing_too() -> None:
    """`training_file` is `data.source`, so `data` is not reported as missing."""
    found = judge_data({"name": "x", "model": "m", "training_file": "a.csv"})
    assert [each.code for each in found] == ["FTC032"]


def test_an_everyday_word_is_no_field_of_another_section() -> None:
    """`model.type: llama` is no GPU, though a GPU may be called anything."""
    spec = {"name": "x", "model": {"id": "m", "type": "llama"}, "data": "a.csv"}
    (finding,) = judge_data(spec)
    assert finding.fix == ()
    assert "hardware" not in finding.help
