"""The activations that a layer keeps, counted by hand for classes unlike Llama's."""

from dataclasses import replace

import pytest

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import layer_bytes, recompute_bytes, router_bytes
from ftc.compiler.plan.memory.phases import parts_of_phases
from ftc.compiler.plan.software import PINNED_QLORA


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


# Llama's default sizes: 32 heads of 128 and as many of keys, an MLP of 11,008
_LLAMA = {"num_key_value_heads": 8}
_HIDDEN, _KEY, _MLP = 4096, 1024, 11_008
_EVERY = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def test_only_a_mask_makes_sdpa_repeat_keys_and_keep_a_number_of_every_pair() -> None:
    """One row, or rows that are all equally long, need none; packed ones do."""
    alone = make_job("LlamaForCausalLM", **_LLAMA)
    several = replace(alone, micro=4)
    mask = 2 * 2 * (_HIDDEN - _KEY) + 2 * 2048
    assert layer_bytes(several) - layer_bytes(alone) == mask
    assert layer_bytes(replace(several, even=True)) == layer_bytes(alone)
    assert layer_bytes(replace(alone, packed=True)) == layer_bytes(several)
    assert layer_bytes(replace(alone, objective="dpo")) == layer_bytes(several)  # two sequences


@pytest.mark.parametrize(("dropout", "mask"), [(0.0, 0), (0.05, 1)])
def test_each_adapter_keeps_a_16_bit_copy_of_its_input(dropout: float, mask: int) -> None:
    """Autocast's, of fp32 adapters, and dropout's mask of one byte; the rank's product beside."""
    base = make_job("LlamaForCausalLM", **_LLAMA)
    adapted = replace(base, targets=_EVERY, rank=16, dropout=dropout)
    inputs = 6 * _HIDDEN + _MLP
    assert layer_bytes(adapted) - layer_bytes(base) == inputs * (2 + mask) + 7 * 16 * 2
    if not dropout:  # adapters in 16 bits keep the input itself, which several read
        narrow = replace(adapted, stack=PINNED_QLORA)
        shared = 3 * _HIDDEN + _MLP
        assert layer_bytes(narrow) - layer_bytes(base) == shared * 2 + 7 * 16 * 2


def test_the_last_linears_adapter_copies_its_input_in_fp32() -> None:
    """PEFT's cast and dropout's result are there at the end of a layer's forward pass."""
    job = replace(make_job("LlamaForCausalLM", **_LLAMA), checkpointing=True)
    assert recompute_bytes(job) == 2 * (3 * _MLP + 2 * _HIDDEN)
    attention = replace(job, targets=("q_proj", "v_proj"))
    assert recompute_bytes(attention) == recompute_bytes(job)
    ending = 2 * (_MLP + 4 * _HIDDEN)
    adapted = replace(job, targets=_EVERY)
    assert recompute_bytes(adapted) == ending + 4 * _MLP
    assert recompute_bytes(replace(adapted, dropout=0.1)) == ending + 8 * _MLP
    assert recompute_bytes(replace(adapted, stack=PINNED_QLORA)) == ending


def test_a_tied_embedding_has_two_gradients_for_a_moment() -> None:
    """With few tokens that is the most of the backward pass; an untied one has no such moment."""
    tied, apart = (
        replace(
            make_job("LlamaForCausalLM", tie_word_embeddings=is_tied, vocab_size=128_256),
            full=True,
            length_tokens=8,
            trainable=10**9,
            load_bytes=4,
        )
        for is_tied in (True, False)
    )
    gradients = [parts_of_phases(job)["layer_backward"]["gradients"] for job in (tied, apart)]
    assert gradients[0] - gradients[1] == 128_256 * _HIDDEN * 4
