"""The miniature of a model: its `config.json` with small sizes, all other settings unchanged."""

from collections.abc import Mapping
from typing import Any, Final

from ftc.compiler.knowledge.architectures.architecture import Shape, read_shape
from ftc.compiler.knowledge.architectures.derived import derived_table, encoder_table
from ftc.compiler.knowledge.architectures.encoders import read_bare, read_encoder
from ftc.compiler.knowledge.architectures.layer_kinds import find_period
from ftc.compiler.knowledge.multimodal.wrappers import find_wrapper, text_config
from ftc.compiler.plan.memory.activations import is_described
from ftc.compiler.rehearse.derived_miniature import shrink_derived
from ftc.compiler.rehearse.heads import (
    EXPERT,
    INTERMEDIATE,
    LAYERS,
    Heads,
    choose_heads,
    shrink_width,
)
from ftc.compiler.rehearse.wrapped_miniature import shrink_wrapper

#: The period of the attention pattern in layers, for models whose config lacks it. llama.cpp has
#: the same numbers in its code (`load_swa_pattern`, `n_no_rope_layer_step`).
_PERIODS: Final[Mapping[str, int]] = {
    "gemma2": 2,
    "gpt_oss": 2,
    "cohere2": 4,
    "exaone4": 4,
    "olmo3": 4,
    "smollm3": 4,
    "gemma3_text": 6,
}
#: llama.cpp recognizes sliding windows only by this number of layers (exaone4.cpp).
_WINDOWED: Final[Mapping[str, int]] = {"exaone4": 64}
_INTERVALS: Final = (
    *("sliding_window_pattern", "no_rope_layer_interval", "global_attn_every_n_layers"),
)
_LONGEST_PERIOD: Final = 8
_OLD_NAMES: Final = frozenset({"gpt2", "gpt_bigcode", "gptj"})
_OWN_KEY_HEADS: Final = _OLD_NAMES | {"gpt_neo", "gpt_neox", "bloom", "falcon"}
_FOUR_TIMES_HIDDEN: Final = _OLD_NAMES | {"gpt_neo", "bloom", "falcon"}  # by default
_ROTATED_SHARES: Final = ("partial_rotary_factor", "rotary_pct")
#: Classes whose feed-forward width llama.cpp's converter takes to be four times the model's.
_BOUND_MLP: Final = frozenset({"phi"})


def shrink(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the config of the miniature; None if ftc does not know the architecture.

    The vocabulary, context, rotations, norms, biases, ties, soft-caps and multipliers stay.
    Each row width has the same greatest common divisor with 256 as the real width.
    """
    wrapper = find_wrapper(config)
    if wrapper is not None:
        return shrink_wrapper(config, wrapper, shrink)
    shape = measure(config)
    if shape is None:
        return None
    if shape.architecture in derived_table() and not is_described(shape.architecture):
        return shrink_derived(config, derived_table()[shape.architecture], shape)
    if shape.architecture in encoder_table():
        entry = encoder_table()[shape.architecture]
        return shrink_derived(config, entry, shape, least=_layers(shape, config))
    heads, layers = choose_heads(shape, config), _layers(shape, config)
    small = dict(config)
    small.pop("quantization_config", None)
    small.update(_named(shape, config, heads, layers))
    small.update(_experts(shape, config))
    small.update(_lists(config, layers))
    read = read_shape(small) or read_bare(small)
    if read is not None and read.head_dim != heads.head_dim:  # a class with its own width
        small["head_dim"] = heads.head_dim
    if "query_pre_attn_scalar" in config:  # llama.cpp divides by the head's width
        small["query_pre_attn_scalar"] = heads.head_dim
    if isinstance(config.get("rotary_dim"), int):
        small["rotary_dim"] = min(config["rotary_dim"], heads.head_dim)
    for name in _ROTATED_SHARES:
        if isinstance(
            config.get(name), float
        ):  # a fraction of a head, whose numbers rotate in pairs
            small[name] = round(config[name] * heads.head_dim / 2) * 2 / heads.head_dim
    return small


def measure(config: Mapping[str, Any]) -> Shape | None:
    """Return the shape of a model that a rehearsal may have, of its language model if it sees."""
    wrapper = find_wrapper(config)
    inside = None if wrapper is None else text_config(config, wrapper)
    config = config if inside is None else inside
    return read_shape(config) or read_bare(config) or read_encoder(config, scores=True)


def _layers(shape: Shape, config: Mapping[str, Any]) -> int:
    """Return the number of layers: one full period of the pattern, and at least two."""
    if _WINDOWED.get(shape.model_type) == shape.layers:
        return shape.layers
    said = (config.get(name) for name in _INTERVALS)
    periods = [n for n in said if isinstance(n, int)]
    periods += [find_period(config[key]) for key in _patterns(config)]
    longest = max([LAYERS, *periods, _PERIODS.get(shape.model_type, 1)])
    return min(shape.layers, longest, max(_LONGEST_PERIOD, LAYERS))


def _patterns(config: Mapping[str, Any]) -> list[str]:
    names = ("layer_types", "no_rope_layers")
    return [name for name in names if isinstance(config.get(name), list) and config[name]]


def _lists(config: Mapping[str, Any], layers: int) -> dict[str, Any]:
    """Shorten the lists that have one entry per layer."""
    cut: dict[str, Any] = {key: config[key][:layers] for key in _patterns(config)}
    if isinstance(config.get("attention_types"), list):
        kinds = [kind for pattern, _ in config["attention_types"] for kind in pattern]
        cut["attention_types"] = [[[kinds[i % len(kinds)]], 1] for i in range(layers)]
    return cut


def _named(shape: Shape, config: Mapping[str, Any], heads: Heads, layers: int) -> dict[str, int]:
    """Return the sizes under the names that this class's config uses."""
    old = shape.model_type in _OLD_NAMES
    sizes = {
        _name(config, "n_embd" if old else "hidden_size", "n_embd", "n_embed"): heads.hidden,
        _name(config, *_layer_names(shape.model_type)): layers,
        _name(config, *_head_names(shape.model_type)): heads.heads,
    }
    if shape.model_type not in _OWN_KEY_HEADS:
        sizes["num_key_value_heads"] = heads.kv_heads
    if "num_kv_heads" in config:
        sizes["num_kv_heads"] = heads.kv_heads
    if heads.explicit:
        sizes["head_dim"] = heads.head_dim
    inner = _name(config, "intermediate_size", "n_inner", "ffn_hidden_size")
    if shape.model_type in _BOUND_MLP:
        sizes[inner] = 4 * heads.hidden
    elif config.get(inner) is not None or shape.model_type not in _FOUR_TIMES_HIDDEN:
        sizes[inner] = shrink_width(shape.intermediate, INTERMEDIATE)
    return sizes


def _layer_names(model_type: str) -> tuple[str, ...]:
    if model_type in _OLD_NAMES or model_type == "bloom":
        return ("n_layer", "num_hidden_layers")
    if model_type == "gpt_neo":
        return ("num_layers", "num_hidden_layers")
    return ("num_hidden_layers", "n_layer")


def _head_names(model_type: str) -> tuple[str, ...]:
    if model_type in _OLD_NAMES or model_type == "bloom":
        return ("n_head", "num_attention_heads")
    if model_type == "gpt_neo":
        return ("num_heads", "num_attention_heads")
    return ("num_attention_heads", "n_head")


def _name(config: Mapping[str, Any], *names: str) -> str:
    """Return the first of the names that the config uses, or the first of all."""
    return next((name for name in names if name in config), names[0])


def _experts(shape: Shape, config: Mapping[str, Any]) -> dict[str, int]:
    """Keep the number of experts per token; the model has twice as many experts."""
    if not shape.experts:
        return {}
    many = min(shape.experts, max(4, 2 * shape.experts_per_token))
    sizes = {_name(config, *_expert_names(shape.model_type)): many}
    if shape.model_type in {"qwen2_moe", "qwen3_moe"}:
        sizes["moe_intermediate_size"] = shrink_width(shape.expert_intermediate, EXPERT)
    if shape.model_type == "qwen2_moe":
        shared = config.get("shared_expert_intermediate_size", shape.intermediate)
        sizes["shared_expert_intermediate_size"] = shrink_width(shared, INTERMEDIATE)
    return sizes


def _expert_names(model_type: str) -> tuple[str, str]:
    if model_type in {"olmoe", "qwen2_moe", "qwen3_moe"}:
        return ("num_experts", "num_local_experts")
    return ("num_local_experts", "num_experts")
