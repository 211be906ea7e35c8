"""The miniature: every architecture keeps its settings, ratios and row divisors."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import Shape, read_shape
from ftc.compiler.knowledge.well_known.models import KINDS, all_models
from ftc.compiler.plan.memory.activations import is_described
from ftc.compiler.rehearse.heads import BLOCK, shrink_width
from ftc.compiler.rehearse.miniature import shrink

CASES = json.loads(
    (Path(__file__).parents[1] / "knowledge" / "architecture_cases.json").read_text()
)
CONFIGS = {
    f"{name}-{number}": case["config"]
    for name, cases in CASES.items()
    for number, case in enumerate(cases)
    if read_shape(case["config"]) is not None
}
SIZES = {
    *("hidden_size", "n_embd", "n_embed", "num_hidden_layers", "n_layer", "num_layers"),
    *("num_attention_heads", "n_head", "num_heads", "num_key_value_heads", "head_dim"),
    *("intermediate_size", "n_inner", "ffn_hidden_size", "moe_intermediate_size"),
    *("shared_expert_intermediate_size", "num_experts", "num_local_experts"),
    *("layer_types", "no_rope_layers", "attention_types", "query_pre_attn_scalar", "rotary_dim"),
}


def shapes(config: Mapping[str, Any]) -> tuple[Shape, Shape]:
    """Return the shapes of a model and of its miniature."""
    real, small = read_shape(config), read_shape(shrink(config) or {})
    assert real is not None
    assert small is not None
    return real, small


def part(width: int) -> int:
    """Return the greatest common divisor of a row and 256."""
    return math.gcd(width, BLOCK)


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_every_architecture_has_a_miniature(name: str) -> None:
    """Row divisors and multiple heads are kept, and so is the rest of the config."""
    config = CONFIGS[name]
    real, small = shapes(config)
    assert part(small.hidden) == part(real.hidden)
    assert part(small.heads * small.head_dim) == part(real.heads * real.head_dim)
    assert (small.kv_heads > 1) == (real.kv_heads > 1)
    assert small.vocab == real.vocab
    assert small.context_tokens == real.context_tokens
    assert small.tied == real.tied
    assert small.gated_mlp == real.gated_mlp
    assert small.experts_per_token == real.experts_per_token <= max(small.experts, 1)
    assert set(small.linear_shapes) == set(real.linear_shapes)
    kept = {key: value for key, value in config.items() if key not in SIZES}
    assert kept.items() <= (shrink(config) or {}).items()


@pytest.mark.parametrize(
    "model",
    [
        each
        for each in all_models()
        if each.wrapper is None
        and each.kind in KINDS["tokens"]
        and is_described(each.shape.architecture)
    ],
    ids=lambda model: model.id,
)
def test_every_known_model_has_a_small_one(model: Any) -> None:
    """Of equal layers: at most 41 M parameters without embeddings, as many queries per key head.

    A model that llama.cpp knows by the number of its layers keeps them all.
    """
    real, small = shapes(model.config)
    whole = small.layers == real.layers
    inside = small.parameters - small.embedding_parameters - small.head_parameters
    assert inside < (80e6 if whole else 41e6)
    assert small.layers <= 8 or (whole and real.model_type == "exaone4")
    assert small.hidden <= 3 * BLOCK
    shared, meant = small.heads // small.kv_heads, real.heads // real.kv_heads
    assert small.kv_heads == real.kv_heads == 1 or abs(shared - meant) <= meant // 4
    assert shared == meant or meant & (meant - 1)
    inner = part(small.intermediate) == part(real.intermediate)
    assert inner or real.experts or small.intermediate == 4 * small.hidden


@pytest.mark.parametrize(
    ("real", "about", "small"),
    [(4096, 256, 256), (896, 256, 384), (1408, 256, 384), (13696, 512, 640), (128, 256, 128)],
)
def test_a_width_keeps_what_divides_it(real: int, about: int, small: int) -> None:
    """256 divides the small row only if it divides the real one."""
    assert shrink_width(real, about) == small
    assert part(small) == part(real)


LLAMA: Mapping[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 2048,
}


def test_an_8b_llama() -> None:
    """The most common shape: 256 wide, four query heads per key head."""
    small = shrink(LLAMA)
    assert small is not None
    assert (small["hidden_size"], small["num_hidden_layers"]) == (256, 2)
    assert (small["num_attention_heads"], small["num_key_value_heads"]) == (8, 2)
    assert "head_dim" not in small


def test_a_ratio_that_256_does_not_divide() -> None:
    """Seven query heads per key head divide no small width, and are eight in the miniature."""
    sizes = {"hidden_size": 3584, **_heads(28, 4)}
    small = shrink({**LLAMA, **sizes})
    assert small is not None
    assert (small["hidden_size"], small["head_dim"]) == (256, 128)
    assert small["num_attention_heads"] == 8 * small["num_key_value_heads"]
    qwen = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
    small = shrink({**LLAMA, **sizes, **qwen})
    assert small is not None
    assert "head_dim" not in small
    assert (small["hidden_size"], small["num_attention_heads"]) == (256, 16)
    assert small["num_key_value_heads"] == 2


def _heads(heads: int, kv_heads: int) -> dict[str, int]:
    return {"num_attention_heads": heads, "num_key_value_heads": kv_heads}


def test_factors_of_rotation_keep_the_width_of_a_head() -> None:
    """A factor per pair of a head's numbers requires the real head width."""
    scaling = {"rope_type": "longrope", "short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
    small = shrink({**LLAMA, "rope_scaling": scaling})
    assert small is not None
    assert small.get("head_dim", small["hidden_size"] // small["num_attention_heads"]) == 128
    assert small["rope_scaling"] == scaling


def test_heads_that_llama_cpp_takes_to_be_as_wide_as_the_model() -> None:
    """A head width in the config is adapted if the loader does not read it."""
    cohere = {"architectures": ["Cohere2ForCausalLM"], "model_type": "cohere2", "head_dim": 128}
    small = shrink({**LLAMA, **cohere})
    assert small is not None
    assert small["head_dim"] * small["num_attention_heads"] == small["hidden_size"]


@pytest.mark.parametrize(("share", "small"), [(0.4, 0.40625), (0.25, 0.25), (1.0, 1.0)])
def test_a_rotated_share_is_whole_pairs(share: float, small: float) -> None:
    """A narrower head rotates an even number of values, close to the real fraction."""
    phi = {"architectures": ["PhiForCausalLM"], "model_type": "phi", **_heads(32, 32)}
    config = shrink({**LLAMA, **phi, "hidden_size": 2560, "partial_rotary_factor": share})
    assert config is not None
    assert config["partial_rotary_factor"] == small
    width = config["hidden_size"] // config["num_attention_heads"]
    assert small * width % 2 == 0
    assert config["intermediate_size"] == 4 * config["hidden_size"]


def test_a_pattern_of_layers_stays_whole() -> None:
    """Sliding and full attention alternate in the miniature as in the model."""
    kinds = ["sliding_attention"] * 5 + ["full_attention"]
    config = {**LLAMA, "layer_types": kinds * 5, "num_hidden_layers": 30}
    small = shrink(config)
    assert small is not None
    assert small["num_hidden_layers"] == 6
    assert small["layer_types"] == kinds


def test_heads_of_their_own_width_divide_the_model() -> None:
    """EmbeddingGemma has 3 heads, and its class refuses a hidden size that 3 does not divide."""
    small = shrink(
        {
            "architectures": ["Gemma3TextModel"],
            "model_type": "gemma3_text",
            "head_dim": 256,
            "hidden_size": 768,
            "intermediate_size": 1152,
            "num_attention_heads": 3,
            "num_hidden_layers": 24,
            "num_key_value_heads": 1,
        }
    )
    assert small is not None
    assert small["hidden_size"] % small["num_attention_heads"] == 0
    assert small["architectures"] == ["Gemma3TextModel"]


def test_an_unknown_architecture_has_none() -> None:
    """Without a formula there are no sizes to shrink."""
    assert shrink({"architectures": ["UnheardOfForCausalLM"], "model_type": "unheard"}) is None


def test_a_class_without_a_text_class_keeps_its_name() -> None:
    """A config that transformers wrote names no class of the language model inside."""
    name = "MuseSparkForConditionalGeneration"
    text = {"model_type": "muse_spark_text", "architectures": None, "num_hidden_layers": 4}
    small = shrink({"architectures": [name], "model_type": "muse_spark", "text_config": text})
    assert small is not None
    assert small["architectures"] == [name]


@pytest.mark.parametrize(
    "tower",
    [
        {"n_layers": 24},  # Inkling
        {"encoder_config": {"num_hidden_layers": 24}},  # DeepSeek-OCR 2
    ],
)
def test_a_tower_has_two_layers_by_any_name(tower: dict[str, Any]) -> None:
    """However a config spells them, and wherever it has them."""
    name = "LlavaForConditionalGeneration"
    text = {"model_type": "llama", "num_hidden_layers": 32}
    config = {"architectures": [name], "model_type": "llava", "text_config": text}
    small = shrink({**config, "vision_config": tower})
    assert small is not None
    inside = small["vision_config"]
    [layers] = inside.values() if "n_layers" in inside else inside["encoder_config"].values()
    assert layers == 2


def test_heads_divide_the_width_where_the_real_ones_do() -> None:
    """AFM-4.5B has five query heads per key head, of 128 numbers: no small width is a multiple."""
    for model in all_models():
        real = read_shape(model.config)
        small = read_shape(shrink(model.config) or {})
        if real is not None and small is not None and real.hidden % real.heads == 0:
            assert small.hidden % small.heads == 0, model.id
