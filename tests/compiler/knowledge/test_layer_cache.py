"""What layers cache per token, against the caches of the classes of transformers."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.layer_cache import find_cached
from tests.compiler.knowledge.derived_rows import shape_of

CASES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "derived_cases.json").read_text(encoding="utf-8")
)
#: The attention of DeepSeek-V3, at its own sizes.
LATENT: dict[str, Any] = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "num_hidden_layers": 4,
    "n_routed_experts": 8,
    "n_group": 1,
    "topk_group": 1,
}
#: That of Gemma 4 E2B, where more than half of the layers read the keys of earlier ones.
SHARED: dict[str, Any] = {
    "architectures": ["Gemma4ForCausalLM"],
    "model_type": "gemma4_text",
    "hidden_size": 1536,
    "intermediate_size": 6144,
    "num_hidden_layers": 35,
    "num_attention_heads": 8,
    "num_key_value_heads": 1,
    "head_dim": 256,
    "global_head_dim": 512,
    "num_kv_shared_layers": 20,
    "use_double_wide_mlp": True,
    "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
}
#: MiMo-V2-Flash: keys are wider than values, and windowed layers have twice the heads.
UNEQUAL: dict[str, Any] = {
    "architectures": ["MiMoV2FlashForCausalLM"],
    "model_type": "mimo_v2_flash",
    "num_hidden_layers": 6,
    "hybrid_layer_pattern": [0, 1, 1, 1, 1, 0],
    "moe_layer_freq": [0, 1, 1, 1, 1, 1],
}
#: HRM: each low cycle and each high cycle goes through the layers of its stack.
REPEATED: dict[str, Any] = {
    "architectures": ["HrmTextForCausalLM"],
    "model_type": "hrm_text",
    "num_hidden_layers": 3,
    "H_cycles": 3,
    "L_cycles": 2,
}


def test_latent_attention() -> None:
    """One latent vector and one rotated key of all heads, not the keys and values of each head."""
    shape = shape_of(LATENT)
    assert shape.cached_numbers() == 4 * (512 + 64)
    assert shape.most_cached() == 576
    assert shape.kv_heads * shape.head_dim == 128 * 192, "what its activations have"


def test_layers_that_read_the_keys_of_others() -> None:
    """Fifteen of Gemma 4's layers have keys of their own, three of those with wider heads."""
    shape = shape_of(SHARED)
    assert shape.cached_numbers() == 12 * 2 * 256 + 3 * 2 * 512
    assert shape.most_cached() == 2 * 512


def test_keys_and_values_of_their_own_sizes() -> None:
    """Each kind of layer counts as its projections are."""
    shape = shape_of(UNEQUAL)
    assert set(shape.cached) == {4 * (192 + 128), 8 * (192 + 128)}


def test_layers_that_a_token_goes_through_several_times() -> None:
    """Each pass has a cache of its own: three high cycles, and two low ones in each of them."""
    shape = shape_of(REPEATED)
    assert shape.passes == (3 * 2 + 3) / 2
    assert shape.cached_numbers() == 3 * (3 * 2 + 3) * 2 * 12 * 128
    inside = shape.parameters - shape.embedding_parameters - shape.head_parameters
    assert shape.repeated_parameters() == 3.5 * inside
    assert shape_of(LATENT).repeated_parameters() == 0


def test_layers_without_projections_of_their_own() -> None:
    """Gemma 3n's read keys of earlier layers; Zamba2's have theirs, by the weights of another."""
    keys = {"a.k_proj.weight": (8, 64), "a.v_proj.weight": (8, 64)}
    rest = {"a.q_proj.weight": (8, 64)}
    plain, beside = "full_attention", "parallel"
    state = ("linear_attention", {"linear_attn.k_proj.weight": (64, 64)})
    assert find_cached([(plain, keys), (plain, rest)], alike=10) == (16, 0)
    assert find_cached([(beside, keys), (beside, rest), state], alike=10) == (16, 16, 0)


@pytest.mark.parametrize(
    ("mixer", "tensors", "cached"),
    [
        ("full_attention", {"attn.c_attn.weight": (96, 288)}, ()),
        ("cross_attention", {"a.k_proj.weight": (8, 64), "a.v_proj.weight": (8, 64)}, ()),
        ("linear_attention", {"linear_attn.k_proj.weight": (64, 64)}, ()),
        ("full_attention", {"a.k_proj.weight": (8, 64), "a.v_proj.weight": (4, 64)}, (12,)),
        ("full_attention", {"a.k_proj.weight": (8, 64), "a.i.k_proj.weight": (2, 64)}, ()),
        ("full_attention", {"a.k_proj.weight": (8, 64), "b.k_proj.weight": (2, 64)}, ()),
    ],
)
def test_kinds(mixer: str, tensors: dict[str, tuple[int, ...]], cached: tuple[int, ...]) -> None:
    """What is as the heads say needs no numbers of its own."""
    assert find_cached([(mixer, tensors)], alike=16) == cached


@pytest.mark.parametrize("config", [LATENT, SHARED, UNEQUAL, REPEATED])
def test_a_real_cache(config: dict[str, Any]) -> None:
    """The class on the meta device, which runs and keeps as much."""
    assert run(config) == shape_of(config).cached_numbers()


@pytest.mark.prove_all
@pytest.mark.parametrize("name", sorted(CASES))
def test_real_caches(name: str) -> None:
    """One configuration of each class; some cannot run with the sizes of the generator."""
    found = run(CASES[name][0]["config"])
    assert found in (None, shape_of(CASES[name][0]["config"]).cached_numbers())


def run(config: dict[str, Any]) -> int | None:
    """Return the numbers per token in the cache of a class, or None where it does not run."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    facts = {k: v for k, v in config.items() if k not in {"architectures", "model_type"}}
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        try:
            settings = transformers.AutoConfig.for_model(config["model_type"], **facts)
            cls = getattr(transformers, config["architectures"][0])
            model = cls._from_config(settings, dtype=torch.bfloat16)
            ids = torch.zeros((1, 4), dtype=torch.long)
            cache = model(input_ids=ids, use_cache=True).past_key_values
            cache = getattr(cache, "self_attention_cache", cache)
        except (AttributeError, RuntimeError, TypeError, ValueError):
            return None
    kept = [(getattr(each, "keys", None), getattr(each, "values", None)) for each in cache.layers]
    found: int = sum(
        (keys.numel() + values.numel()) // 4
        for keys, values in kept
        if keys is not None and values is not None
    )
    return found
