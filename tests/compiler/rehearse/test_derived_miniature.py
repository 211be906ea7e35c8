"""The miniatures of derived classes and wrappers: every config of the benchmark."""

from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.families import read_cases
from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.architectures.shape import Shape
from ftc.compiler.knowledge.multimodal.wrappers import find_wrapper, text_config
from ftc.compiler.rehearse.miniature import shrink

CONFIGS = {family.name: family.config for family in read_cases()}
MOST_MILLIONS = 600  # with a vocabulary of 150,000 tokens


def shape_of(config: Mapping[str, Any]) -> Shape:
    """Read the sizes of a model, or of the language model in a wrapper."""
    wrapper = find_wrapper(config)
    inside = config if wrapper is None else text_config(config, wrapper)
    assert inside is not None
    shape = read_shape(inside)
    assert shape is not None
    return shape


def shapes(name: str) -> tuple[Shape, Shape]:
    """Return the sizes of a model and of its miniature."""
    small = shrink(CONFIGS[name])
    assert small is not None
    return shape_of(CONFIGS[name]), shape_of(small)


@pytest.mark.parametrize("name", CONFIGS)
def test_every_part_of_the_model_is_there(name: str) -> None:
    """Each kind of layer, each linear module, the experts per token and the shared key heads."""
    real, small = shapes(name)

    assert {(k.mixer, k.mlp) for k in small.kinds} == {(k.mixer, k.mlp) for k in real.kinds}
    assert set(small.linear_shapes) == set(real.linear_shapes)
    assert small.experts_per_token == real.experts_per_token <= max(small.experts, 1)
    assert (small.vocab, small.tied) == (real.vocab, real.tied)
    assert small.attention_bias == real.attention_bias
    assert small.layers <= real.layers
    assert small.heads % small.kv_heads == 0
    assert (small.kv_heads > 1) == (real.kv_heads > 1)
    embeddings = small.embedding_parameters + small.head_parameters
    assert small.parameters - embeddings < min(real.parameters, MOST_MILLIONS * 10**6)


def test_equations_between_sizes_stay() -> None:
    """A state space is as wide as before against the model, and its groups divide its heads."""
    small = shrink(CONFIGS["bamba"])
    assert small is not None
    wide = small["mamba_n_heads"] * small["mamba_d_head"]
    assert wide == small["mamba_expand"] * small["hidden_size"]
    assert small["attn_layer_indices"] == [9]
    small = shrink(CONFIGS["lfm2"])
    assert small is not None
    assert small["conv_dim"] == small["block_dim"] == small["hidden_size"]
    assert small["full_attn_idxs"] == [2]


def test_a_state_space_of_wide_heads_converts() -> None:
    """Nemotron Nano 9B v2 has heads of 80, and the converter divides their whole width by 64."""
    pattern = "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"
    sizes = {"hidden_size": 4480, "intermediate_size": 15680, "mamba_head_dim": 80}
    heads = {"num_attention_heads": 40, "hybrid_override_pattern": pattern}
    layers = {"num_hidden_layers": len(pattern)}
    small = shrink({**CONFIGS["nemotron-h"], **sizes, **heads, **layers})
    assert small is not None
    assert small["mamba_head_dim"] == 80
    assert small["mamba_num_heads"] * small["mamba_head_dim"] % 64 == 0
    assert small["mamba_num_heads"] % small["n_groups"] == 0


def test_a_model_that_shares_keys_keeps_the_layers_of_its_own() -> None:
    """Gemma 3n's layers from the 20th on read earlier keys; lists of widths are small too."""
    kinds = (["sliding_attention"] * 4 + ["full_attention"]) * 7
    text = {
        "architectures": ["Gemma3nForCausalLM"],
        "model_type": "gemma3n_text",
        "hidden_size": 2048,
        "intermediate_size": [16384] * 35,
        "num_hidden_layers": 35,
        "num_kv_shared_layers": 15,
        "layer_types": kinds,
        "vocab_size": 2048,
        "vocab_size_per_layer_input": 2048,
    }
    small = shrink(text)
    assert small is not None
    assert (small["num_hidden_layers"], small["num_kv_shared_layers"]) == (25, 5)
    assert small["layer_types"] == kinds[:25]
    assert len(small["intermediate_size"]) == 25
    assert set(small["intermediate_size"]) == {512}
    assert (small["vocab_size"], small["hidden_size"]) == (2048, 256)


def test_groups_of_experts_stay() -> None:
    """DeepSeek-V3 chooses from four of eight groups, which have two experts each."""
    small = shrink(CONFIGS["deepseek-v3"])
    assert small is not None
    assert (small["n_group"], small["n_routed_experts"]) == (8, 16)
    assert small["num_nextn_predict_layers"] == 0


def test_a_tower_ends_in_the_width_of_the_text() -> None:
    """It has two layers of two heads, and its own head's width."""
    small = shrink(CONFIGS["qwen3-vl"])
    assert small is not None
    tower, text = small["vision_config"], small["text_config"]
    assert tower["out_hidden_size"] == text["hidden_size"] == 256
    assert (tower["depth"], tower["num_heads"], tower["hidden_size"]) == (2, 2, 128)
    assert tower["deepstack_visual_indexes"] == [1]
    assert small["image_token_id"] == CONFIGS["qwen3-vl"]["image_token_id"]


def test_a_tower_with_lists_and_a_named_language_model() -> None:
    """Lists with an entry for each layer are cut; read layers exist; the text keeps its name."""
    text = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "num_hidden_layers": 28}
    config = {
        "architectures": ["InternVLForConditionalGeneration"],
        "model_type": "internvl",
        "text_config": text,
        "vision_config": {"num_hidden_layers": 6, "layer_types": ["a"] * 5 + ["b"]},
        "adapter_config": {"vision_feature_layer": [24, 18]},
    }
    small = shrink(config)
    assert small is not None
    assert small["text_config"]["architectures"] == ["Qwen2ForCausalLM"]
    assert small["vision_config"] == {"num_hidden_layers": 2, "layer_types": ["a", "b"]}
    assert small["adapter_config"] == {"vision_feature_layer": [1, 0]}
