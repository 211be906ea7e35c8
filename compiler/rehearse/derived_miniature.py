"""Makes the miniature of a class in the derived table by shrinking each size by its role.

The role follows from the key's name and from equations between the real sizes: a width equal to the
model's stays equal to it, and the heads of a state space keep their total width.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ftc.compiler.knowledge.architectures.derived import Entry, Named, named_sizes
from ftc.compiler.knowledge.architectures.layer_kinds import find_period
from ftc.compiler.knowledge.architectures.shape import Shape
from ftc.compiler.rehearse.heads import (
    EXPERT,
    INTERMEDIATE,
    LAYERS,
    Heads,
    choose_heads,
    shrink_width,
)

__all__ = ["count_layers", "cut_layers", "shrink_derived"]

_LONGEST_PERIOD: Final = 8
_INNER: Final = re.compile(
    r".*intermediate.*|.*ff[nd]?_(hidden_)?(dim|size)|moe_latent_size|hidden_dim"
)
_SPARSE: Final = re.compile(r".*(moe|expert).*")
_EXPERTS: Final = re.compile(r"(n|num|moe_num)_(routed_|local_)?experts")
_GROUPS: Final = ("n_group", "num_expert_group")
_WIDTH: Final = re.compile(r".*(dim|size|width|d_model|d_inner|n_embd|dim_out)")
_HEADS: Final = re.compile(r".*heads?|n_head")
#: Tensors of layers that predict further tokens, which transformers does not build.
_DRAFTS: Final = re.compile(r".*(nextn|mtp).*layers|num_mtp.*")
_HEAD_WIDTHS: Final = ("head_dim", "attention_head_dim")
_STATE_HEADS: Final = ("mamba_n_heads", "mamba_num_heads", "num_heads")
_STATE_WIDTHS: Final = ("mamba_d_head", "mamba_head_dim", "head_dim")
_STATE_GROUPS: Final = ("mamba_n_groups", "n_groups")
_EXPANSIONS: Final = ("mamba_expand", "expand")
#: The head width by which the converter divides a state space whose config has another key for it.
_CONVERTED_HEAD: Final = 64
_RANKS: Final = ("mamba_dt_rank", "time_step_rank")
_TOKENS_PER_RANK: Final = 16  # the width of the model over the rank, where a config says "auto"
#: One kind of layer for the layers whose numbers a list has; the second numbers them from one.
_MEMBERS: Final = re.compile(r".*(layers|indices|idxs|indexes)")
#: llama.cpp concludes from the number of layers that these have no `q_lora_rank`, and how the
#: others choose experts (deepseek2.cpp).
_COUNTED: Final = frozenset({"deepseek_v2", "deepseek_v3"})
_COUNTED_ALWAYS: Final = frozenset({"glm4_moe_lite"})
#: The layer from which on llama.cpp lets the layers of a type read earlier keys (gemma3n.cpp).
_SHARED_FROM: Final = {"gemma3n_text": 20}
_TURNED: Final = ("attn_rotary_emb", "rotary_dim")
_LAST: Final = re.compile(r".*layer_end_index")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Real:
    """The model whose miniature is made."""

    config: Mapping[str, Any]
    sizes: Mapping[str, Named]
    shape: Shape

    def size(self, *names: str) -> int | None:
        """Return the first of these sizes in the model."""
        return next((self.sizes[name].value for name in names if name in self.sizes), None)


def shrink_derived(
    config: Mapping[str, Any], entry: Entry, shape: Shape, *, least: int = LAYERS
) -> dict[str, Any]:
    """Return the config of the miniature of a model that this entry describes.

    It has no fewer layers than `least` and no more than the model.
    """
    real = _Real(config=config, sizes=named_sizes(entry, config), shape=shape)
    free = {key: value for key, value in config.items() if key != "head_dim"}
    heads = choose_heads(shape, free)  # together as wide as the model where they are in it
    value = real.size("v_head_dim")
    if value is not None and shape.heads * value == shape.hidden:  # as llama.cpp takes it to be
        count = max(1, heads.hidden // value)
        heads = replace(heads, heads=count, kv_heads=count)
    layers = max(count_layers(shape, config), least)
    small = cut_layers(config, shape.layers, layers)
    small.pop("quantization_config", None)
    sizes = {**_other_widths(real, heads), **_inner_widths(real), **_attention(real, heads)}
    sizes |= _linear_heads(real) | _state_space(real, heads) | _experts(real)
    sizes |= _shared_experts(real, sizes)
    small |= _listed_widths(small)
    for name, value in sizes.items():
        own = name if name in config else entry["aliases"].get(name, name)
        _put(small, real.sizes[name].path if name in real.sizes else (own,), value)
    for key in _TURNED:  # numbers of a head that a rotation turns
        if type(config.get(key)) is int and real.size("qk_rope_head_dim") is None:
            small[key] = config[key] * heads.head_dim // shape.head_dim
    _put(small, _layer_path(entry, config), layers)
    return small


def count_layers(shape: Shape, config: Mapping[str, Any]) -> int:
    """Return the number of first layers that include every kind."""
    counted = shape.model_type in _COUNTED and config.get("q_lora_rank", 0) is None
    if counted or shape.model_type in _COUNTED_ALWAYS:
        return shape.layers
    order = shape.order or (0,)
    first = max(order.index(kind) for kind in set(order)) + 1
    lists = [v for v in config.values() if isinstance(v, list) and len(v) == shape.layers]
    periods = [n for n in map(find_period, lists) if n <= _LONGEST_PERIOD]
    shared = config.get("num_kv_shared_layers")
    most = max([LAYERS, first, *periods])
    if shape.model_type in _SHARED_FROM:
        most = _SHARED_FROM[shape.model_type] + max([LAYERS, *periods])
    elif type(shared) is int and shared:  # their keys are those of an earlier layer of their kind
        most *= 2
    return min(shape.layers, most)


def cut_layers(config: Mapping[str, Any], layers: int, few: int) -> dict[str, Any]:
    """Return the config with only its first layers, in every key about layers."""
    cut = {}
    for key, value in config.items():
        new = value
        if isinstance(value, list | str) and len(value) == layers and not _is_name(value):
            new = value[:few]
        elif isinstance(value, list) and _MEMBERS.fullmatch(key):
            new = [number for number in value if type(number) is not int or number < few]
        elif isinstance(value, dict) and value and all(str(k).isdigit() for k in value):
            new = {number: each for number, each in value.items() if int(number) < few}
        elif isinstance(value, dict) and key.endswith("_config"):
            new = {k: _inside(v, few) for k, v in value.items()}
        elif type(value) is int and _LAST.fullmatch(key):
            new = min(value, few - 1)
        elif type(value) is int and _DRAFTS.fullmatch(key):
            new = 0
        elif key == "num_kv_shared_layers" and value:
            own = _SHARED_FROM.get(str(config.get("model_type")), few - few // 2)
            new = max(0, few - own)
        cut[key] = new
    return cut


def _is_name(value: object) -> bool:
    """Return whether a string is a name, and not a pattern of letters for layers."""
    return isinstance(value, str) and bool(re.search(r"[a-z_./]", value))


def _inside(value: object, few: int) -> object:
    """Cut a list in a section of the config, whose numbers of layers begin with one."""
    if not isinstance(value, list):
        return value
    return [number for number in value if type(number) is not int or number <= few]


def _layer_path(entry: Entry, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key that counts the layers, as the config writes it."""
    names = {"num_hidden_layers": entry["aliases"].get("num_hidden_layers", "num_hidden_layers")}
    other = names["num_hidden_layers"]
    return (other,) if other in config else ("num_hidden_layers",)


def _attention(real: _Real, heads: Heads) -> dict[str, int]:
    """Return the heads of the attention, and every other count that equals theirs."""
    shape, small = real.shape, {"hidden_size": heads.hidden}
    if real.size("num_attention_heads") is None and not shape.attention_layers():
        return small
    same = {shape.heads: heads.heads, shape.kv_heads: heads.kv_heads}
    keys = {k: v for k, v in real.config.items() if type(v) is int and _HEADS.fullmatch(k)}
    keys |= {k: named.value for k, named in real.sizes.items() if _HEADS.fullmatch(k)}
    for key, value in keys.items():
        own = key.startswith(("index_", "mamba_")) or key in _LINEAR_HEADS
        if not own and value in same:
            small[key] = (
                heads.kv_heads if "key_value" in key and value == shape.kv_heads else (same[value])
            )
        elif "key_value" in key:  # fewer in some layers
            small[key] = max(1, heads.heads * value // shape.heads)
    if real.size("qk_rope_head_dim") is None:
        said = [key for key in _HEAD_WIDTHS if real.config.get(key) == shape.head_dim]
        said += ["head_dim"] if heads.explicit else []
        small |= dict.fromkeys(said, heads.head_dim)
    return small


_LINEAR_HEADS: Final = ("linear_num_key_heads", "linear_num_value_heads")


def _linear_heads(real: _Real) -> dict[str, int]:
    """Return the heads of linear attention: two for keys, and as many values per key as before."""
    keys, values = (real.size(name) for name in _LINEAR_HEADS)
    if keys is None or values is None or keys <= 2:  # noqa: PLR2004 - no fewer than two
        return {}
    return dict(zip(_LINEAR_HEADS, (2, 2 * values // keys), strict=True))


def _state_space(real: _Real, heads: Heads) -> dict[str, int]:
    """Return small sizes of a state space: equal head widths, and groups that divide the heads."""
    small = {}
    expansion = real.size(*_EXPANSIONS) or _said(real, *_EXPANSIONS)
    rank = next((name for name in _RANKS if name in real.sizes), None)
    if rank is not None:
        small[rank] = math.ceil(heads.hidden / _TOKENS_PER_RANK)
    inner = real.size("mamba_d_ssm")
    counted = next((name for name in _STATE_HEADS if name in real.sizes), None)
    if counted is None:
        return small
    count = real.sizes[counted].value
    narrow = _said(real, *_STATE_WIDTHS) or _whole(expansion, real.shape.hidden, count)
    if narrow is None:
        return small
    total = inner or count * narrow
    coupled = expansion is not None and total == expansion * real.shape.hidden
    wide = expansion * heads.hidden if coupled and expansion else shrink_width(total, INTERMEDIATE)
    step = narrow if coupled else math.lcm(narrow, math.gcd(total, _CONVERTED_HEAD))
    wide = max(wide - wide % step, step)
    small[counted] = wide // narrow
    if inner is not None or "mamba_d_ssm" in real.config:
        small["mamba_d_ssm"] = wide
    grouped = next((name for name in _STATE_GROUPS if name in real.sizes), None)
    if grouped is not None:
        small[grouped] = math.gcd(real.sizes[grouped].value, small[counted])
    return small


def _whole(expansion: int | None, hidden: int, count: int) -> int | None:
    return expansion * hidden // count if expansion else None


def _said(real: _Real, *names: str) -> int | None:
    """Return the first of these keys with a number in the config."""
    return next((real.config[n] for n in names if type(real.config.get(n)) is int), None)


def _inner_widths(real: _Real) -> dict[str, int]:
    """Return the widths of feed-forward layers, and those of experts."""
    small = {}
    widths = {k: v for k, v in real.config.items() if type(v) is int} | {
        key: named.value for key, named in real.sizes.items() if not named.follows
    }
    plain = real.size("moe_intermediate_size") is not None
    for key, value in widths.items():
        if _INNER.fullmatch(key) and value:
            sparse = _SPARSE.fullmatch(key) or (real.shape.experts and not plain)
            small[key] = shrink_width(value, EXPERT if sparse else INTERMEDIATE)
    return small


def _listed_widths(config: Mapping[str, Any]) -> dict[str, list[int]]:
    """Return the widths of feed-forward layers from a list with one per layer."""
    return {
        key: [shrink_width(width, INTERMEDIATE) for width in value]
        for key, value in config.items()
        if _INNER.fullmatch(key) and isinstance(value, list) and all(type(n) is int for n in value)
    }


def _other_widths(real: _Real, heads: Heads) -> dict[str, int]:
    """Return every width that equals the model's."""
    hidden = real.shape.hidden
    return {
        key: heads.hidden
        for key, value in real.config.items()
        if value == hidden and type(value) is int and _WIDTH.fullmatch(key) and "vocab" not in key
    }


def _experts(real: _Real) -> dict[str, int]:
    """Return the number of experts: twice those per token, and as many groups of them as before."""
    shape = real.shape
    small: dict[str, int] = {}
    if not shape.experts:
        return small
    groups = _said(real, *_GROUPS) or 1
    chosen = _said(real, "topk_group") or groups
    each = max(2, -(-shape.experts_per_token // chosen), -(-4 // groups))
    many = max(groups * each, 2 * shape.experts_per_token)
    many = min(shape.experts, -(-many // groups) * groups)
    for key, value in {k: n.value for k, n in real.sizes.items()}.items():
        if _EXPERTS.fullmatch(key) and value == shape.experts:
            small[key] = many
    small |= {
        key: many
        for key, value in real.config.items()
        if _EXPERTS.fullmatch(key) and value == shape.experts
    }
    return small


def _shared_experts(real: _Real, small: Mapping[str, int]) -> dict[str, int]:
    """Keep a dense layer as wide as the shared experts of all key heads, if it is.

    llama.cpp's converter takes the width of ERNIE's shared experts from this equation.
    """
    count = real.size("moe_num_shared_experts")
    inner, sparse = real.size("intermediate_size"), real.size("moe_intermediate_size")
    if count is None or inner is None or sparse is None:
        return {}
    if inner != count * sparse * real.shape.kv_heads:
        return {}
    kv_heads, narrow = small["num_key_value_heads"], small["moe_intermediate_size"]
    return {"intermediate_size": count * narrow * kv_heads}


def _put(config: dict[str, Any], path: tuple[str, ...], value: int) -> None:
    """Set a key of the config, or of a section of it."""
    *sections, key = path
    for section in sections:
        config[section] = dict(config[section])
        config = config[section]
    config[key] = value
