"""Experts of older transformers, which are modules of their own and run one by one."""

from dataclasses import replace

import pytest

from ftc.compiler.knowledge.well_known.models import all_models
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.phases import phases
from ftc.compiler.plan.software import PLAIN_4_48


def make_job(name: str, micro: int) -> Job:
    """Return LoRA of rank 16 on attention, FSDP1 on two GPUs, rows of 4,096 tokens."""
    shape = next(model.shape for model in all_models() if model.id.endswith(name))
    assert shape is not None
    targets = ("q_proj", "k_proj", "v_proj", "o_proj")
    return Job(
        shape=shape,
        full=False,
        trainable=13_631_488,
        targets=targets,
        rank=16,
        dropout=0.1,
        load_bytes=2,
        compute_bytes=2,
        attention="flash_attention_2",
        sharding="fsdp1",
        world=2,
        micro=micro,
        accumulation=1,
        length_tokens=4096,
        checkpointing=True,
        gpu=True,
        stack=PLAIN_4_48,
    )


@pytest.mark.parametrize(
    ("name", "slope"), [("Mistral-7B-v0.1", 831_904), ("Mixtral-8x7B-v0.1", 890_734)]
)
def test_the_published_bytes_per_token(name: str, slope: int) -> None:
    """Plain runs on A100-80GB at two batch sizes (fms-acceleration)."""
    low, high = (max(phases(make_job(name, micro)).values()) for micro in (2, 4))
    assert (high - low) / (2 * 4096) == pytest.approx(slope, rel=0.001)


def test_a_quantized_mixture_has_its_experts_in_four_bits() -> None:
    """As modules they are quantized, 23 GiB; as fused tensors they stay in 16 bits, 85 GiB."""
    job = replace(make_job("Mixtral-8x7B-v0.1", 1), storage="nf4-double", sharding="single")
    stack = replace(PLAIN_4_48, looped_experts=True)
    assert 22 < phases(replace(job, stack=stack))["load"] / 2**30 < 25
    stack = replace(PLAIN_4_48, looped_experts=False)
    assert 80 < phases(replace(job, stack=stack))["load"] / 2**30 < 90
