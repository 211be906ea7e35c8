"""What a layer keeps, counted by hand where a class is not like Llama's."""

from dataclasses import replace

import pytest

from ftc.compiler.knowledge.architecture import read_shape
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import layer_bytes, router_bytes


def make_job(architecture: str, **config: object) -> Job:
    """Return LoRA on the class's default sizes: one row of 2,048 tokens, SDPA."""
    shape = read_shape({"architectures": [architecture], **config})
    assert shape is not None
    return Job(
        shape=shape,
        full=False,
        trainable=0,
        load_bytes=2,
        compute_bytes=2,
        attention="sdpa",
        sharding="single",
        world=1,
        micro=1,
        accumulation=1,
        length_tokens=2048,
        checkpointing=False,
        gpu=True,
    )


@pytest.mark.parametrize(("rows", "copies"), [(1, 64), (2, 71 * 64)])
def test_falcons_one_key_head_makes_sdpa_keep_the_scores(rows: int, copies: int) -> None:
    """Falcon 7B in fp32: 71 queries, keys and values (copied from two rows on), 2,048 scores."""
    job = replace(make_job("FalconForCausalLM"), micro=rows)
    fused = replace(job, attention="flash_attention_2")
    plain = 4 * (71 * 64 + 2 * copies + 71 * 2048)
    kept_by_a_kernel = 2 * (2 * 71 * 64 + 2 * 64) + 4 * 71
    assert layer_bytes(job) - layer_bytes(fused) == plain - kept_by_a_kernel


def test_gpt_bigcode_has_one_key_head_whatever_its_configuration_says() -> None:
    """The class counts its key heads by `multi_query` alone."""
    assert make_job("GPTBigCodeForCausalLM", num_key_value_heads=4).shape.kv_heads == 1


def test_a_router_keeps_its_softmax_its_choice_and_four_orders() -> None:
    """Qwen3-MoE: 128 experts in fp32, eight chosen; GPT-OSS's softmax is over the chosen ones."""
    job = make_job("Qwen3MoeForCausalLM", num_experts=128)
    assert router_bytes(job) == 4 * 128 + 8 * (4 * 8 + 2 * 4)
    chosen = make_job("GptOssForCausalLM")
    assert router_bytes(chosen) == chosen.shape.experts_per_token * 40
    assert router_bytes(make_job("LlamaForCausalLM")) == 0
