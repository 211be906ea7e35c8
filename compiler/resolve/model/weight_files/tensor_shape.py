"""The shape of a model that no table describes, from the names and sides of its tensors.

The largest numbered stack is that of the layers, with its equals. Sizes that no tensor says, such
as the number of heads, are read from the keys of `config.json` that most classes use.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from ftc.compiler.knowledge.architectures.derived import CHOSEN_EXPERTS, EXPERTS, is_end_to_end
from ftc.compiler.knowledge.architectures.layer_cache import find_cached
from ftc.compiler.knowledge.architectures.shape import (
    LayerKind,
    LinearShape,
    Shape,
    is_router,
)
from ftc.compiler.resolve.model.config import Config

__all__ = ["read_tensors"]

Tensors = Mapping[str, tuple[int, ...]]

_NUMBERED: Final = re.compile(r"(?P<stack>.*?)\.(?P<number>\d{1,6})\.(?P<rest>.+)")
_EXPERT: Final = re.compile(r"(?P<before>(?:.*\.)?\w*experts?\w*)\.\d{1,6}\.(?P<after>.+)")
_FUSED: Final = re.compile(r"(?:.*\.)?\w*experts?\w*\..+")
_STATE: Final = re.compile(
    r"(?:.*\.)?(?:A_log|dt_bias|dt_proj|ssm_\w+|time_decay|[ms]lstm\w*|rg_lru)\b.*"
)
_CONVOLUTION: Final = re.compile(r"(?:.*\.)?(?:short_)?conv\w*\..+")
_ATTENTION: Final = re.compile(r"(?:.*\.)?(?:\w*(?:attn|attention)\w*)\..+|(?:.*\.)?[qk]_proj\..+")
_GATED: Final = re.compile(r"(?:.*\.)?(?:gate_proj|gate_up_proj|w3|input_linear)(?:\.weight)?")
_JOINT: Final = re.compile(r"(?:.*\.)?(?:\w*qkv\w*|query_key_value|c_attn)", re.IGNORECASE)
_NORM_BIAS: Final = re.compile(r"(?:.*\.)?\w*(?:norm|ln)\w*\.bias")
_HEADS: Final = ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads")
_KEY_HEADS: Final = (
    *("num_key_value_heads", "num_kv_heads", "n_kv_heads", "n_head_kv", "multi_query_group_num"),
)
_HEAD_DIMS: Final = ("head_dim", "kv_channels", "attention_head_dim")
_LATENT: Final = ("qk_nope_head_dim", "qk_rope_head_dim")  # both parts of a latent key
_WIDTHS: Final = ("intermediate_size", "ffn_hidden_size", "n_inner", "d_ff", "ffn_dim")
_LAYERS: Final = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "n_blocks")
_MATRIX: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """A layer's tensors without the number of the layer: experts are one tensor each, as one.

    `experts` is how many there are, 0 without, and `expert` the sides of the tensors of one.
    `single`: each expert has tensors of its own.
    """

    plain: Tensors
    experts: int
    expert: Mapping[str, tuple[int, ...]]
    single: bool = False

    @property
    def linears(self) -> Mapping[str, tuple[int, int]]:
        """The rows and columns of the layer's linear modules, without routers.

        A `Conv1D` of transformers stores the columns first: its bias is as long as the rows.
        """

        def place(name: str, sides: Sequence[int]) -> tuple[int, int]:
            bias = self.plain.get(f"{name}.bias", sides[:1])
            return (sides[1], sides[0]) if bias == sides[1:] else (sides[0], sides[1])

        return {
            name.removesuffix(".weight"): place(name.removesuffix(".weight"), sides)
            for name, sides in self.plain.items()
            if name.endswith(".weight")
            and len(sides) == _MATRIX
            and min(sides) > 1
            and not (self.experts and is_router(name))
        }

    @property
    def expert_parameters(self) -> int:
        """The parameters of all experts and of their router."""
        routers = [s for n, s in self.plain.items() if self.experts and is_router(n)]
        return self.experts * sum(map(prod, self.expert.values())) + sum(map(prod, routers))

    @property
    def parameters(self) -> int:
        """The parameters of the layer."""
        experts = self.experts * sum(map(prod, self.expert.values()))
        return experts + sum(map(prod, self.plain.values()))

    @property
    def mixer(self) -> str:
        """What mixes tokens in the layer, as transformers calls the kind."""
        names = (*self.plain,)
        attention = {
            block
            for name in names
            if _ATTENTION.fullmatch(name) and "norm" not in (block := _block(name))
        }
        states = {_block(name) for name in names if _STATE.fullmatch(name)}
        if states:
            return "parallel" if attention - states else "state_space"
        if any(map(_CONVOLUTION.fullmatch, names)) and not attention:
            return "conv"
        return "full_attention"


def read_tensors(config: Config, tensors: Tensors) -> Shape | None:
    """Return the shape of a model with these tensors, each by its name and sides.

    None where the tensors have no layers, or no token table with the rows that the config says.
    """
    stacks, layers = _find_layers(config, _split_experts(config, tensors))
    if not layers:
        return None
    outside = {n: s for n, s in tensors.items() if not n.startswith(stacks)}
    tables = [n for n, s in outside.items() if _is_table(s, config.embedding_rows)]
    embedding = next((n for n in tables if "head" not in n and "output" not in n), None)
    if embedding is None:
        return None
    rows, hidden = outside[embedding]
    head = next((prod(outside[n]) for n in tables if n != embedding), 0)
    latent = sum(_number(config.data, (key,)) or 0 for key in _LATENT)
    kinds = tuple(dict.fromkeys(map(_signature, layers)))
    order = tuple(kinds.index(_signature(layer)) for layer in layers)
    first = [layers[order.index(kind)] for kind in range(len(kinds))]
    counts = Counter(order)
    ends = _ends({module for layer in first for module in layer.linears})
    widest = max(first, key=lambda layer: layer.parameters)
    sparse = next((layer for layer in first if layer.experts), None)
    is_plain = len(kinds) == 1 and first[0].mixer == "full_attention"
    heads, wide, shared = _find_heads(config, first, hidden)
    key_heads = heads if latent else shared
    alike = 2 * wide * min(shared, heads)
    gated = any(map(_GATED.fullmatch, (*widest.plain, *widest.expert)))
    return Shape(
        architecture=config.architecture,
        model_type=config.model_type,
        layers=len(layers),
        hidden=hidden,
        intermediate=_number(config.data, _WIDTHS)
        or _fused_width(widest, hidden)
        or _widest_side(widest, hidden),
        heads=heads,
        kv_heads=min(key_heads, heads),
        head_dim=latent or wide,
        vocab=rows,
        context_tokens=config.context_tokens or 0,
        tied=not head,
        attention_bias=any(n.endswith("q_proj.bias") for layer in first for n in layer.plain),
        norm="layer" if any(map(_NORM_BIAS.fullmatch, widest.plain)) else "rms",
        gated_mlp=gated or _fused_width(widest, hidden) is not None,
        experts=sparse.experts if sparse else 0,
        experts_per_token=(_number(config.data, CHOSEN_EXPERTS) or 1) if sparse else 0,
        expert_intermediate=_expert_width(sparse, hidden) if sparse else 0,
        parameters=sum(map(prod, outside.values())) + sum(layer.parameters for layer in layers),
        embedding_parameters=rows * hidden,
        head_parameters=head,
        expert_parameters=sum(layer.expert_parameters for layer in layers),
        linear_parameters=sum(sum(map(prod, layer.linears.values())) for layer in layers),
        largest_layer_parameters=widest.parameters,
        linear_shapes=_linear_shapes(first, counts, ends),
        kinds=() if is_plain else _kinds(first, counts, ends),
        order=() if is_plain else order,
        cached=find_cached([(layer.mixer, layer.plain) for layer in first], alike=alike),
        expert_modules=_expert_modules(config, sparse),
    )


def _find_heads(config: Config, first: Sequence[_Layer], hidden: int) -> tuple[int, int, int]:
    """Return the attention heads, their width, and the heads of keys."""
    heads = _number(config.data, _HEADS) or max(1, hidden // 128)
    wide = _number(config.data, _HEAD_DIMS) or max(1, hidden // heads)
    joint = _number(config.data, _KEY_HEADS) or _joint_key_heads(first, heads * wide, wide)
    return heads, wide, joint or heads


def _expert_modules(config: Config, layer: _Layer | None) -> tuple[tuple[int, int], ...]:
    """Return the rows and columns of an expert's linear modules, which only own code has.

    The classes of transformers join experts that have tensors of their own.
    """
    if layer is None or not layer.single or not config.custom_code:
        return ()
    return tuple((s[0], s[1]) for s in layer.expert.values() if len(s) == _MATRIX)


def _joint_key_heads(layers: Iterable[_Layer], queries: int, wide: int) -> int | None:
    """Return the number of key heads from the rows of a projection to queries, keys and values."""
    rows = (
        pair[0]
        for layer in layers
        for name, pair in layer.linears.items()
        if _JOINT.fullmatch(name)
    )
    rests = (row - queries for row in rows)
    return next((n // (2 * wide) for n in rests if n > 0 and not n % (2 * wide)), None)


def _fused_width(layer: _Layer, hidden: int) -> int | None:
    """Return the width of a feed-forward layer whose gate and first projection are one module.

    It has twice as many rows as the last projection has columns.
    """
    pairs = [pair for name, pair in layer.linears.items() if not _ATTENTION.fullmatch(f"{name}.")]
    last = {columns for rows, columns in pairs if rows == hidden}
    found = (rows // 2 for rows, columns in pairs if columns == hidden and rows // 2 in last)
    return max(found, default=None)


def _split_experts(config: Config, tensors: Tensors) -> Tensors:
    """Return the tensors with a side for the experts where these lie under each other."""
    experts = _number(config.data, EXPERTS)
    if experts is None:
        return tensors

    def split(name: str, sides: tuple[int, ...]) -> tuple[int, ...]:
        if len(sides) != _MATRIX or not is_end_to_end(name) or sides[0] % experts:
            return sides
        return (experts, sides[0] // experts, sides[1])

    return {name: split(name, sides) for name, sides in tensors.items()}


def _find_layers(config: Config, tensors: Tensors) -> tuple[tuple[str, ...], Sequence[_Layer]]:
    """Return what the names of the layers' tensors begin with, and the layers in order.

    They are the largest numbered stack and any others that are equal to it. Layers beyond the
    number in the config predict further tokens, and transformers drops them.
    """
    stacks: dict[str, dict[int, dict[str, tuple[int, ...]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for name, sides in tensors.items():
        if match := _NUMBERED.fullmatch(name):
            stacks[match["stack"]][int(match["number"])][match["rest"]] = sides
    if not stacks:
        return (), ()

    def parameters(stack: str) -> int:
        return sum(prod(sides) for layer in stacks[stack].values() for sides in layer.values())

    largest = stacks[max(sorted(stacks), key=parameters)]
    names = [name for name in sorted(stacks) if stacks[name] == largest]
    said, experts = (_number(config.data, keys) for keys in (_LAYERS, EXPERTS))
    layers = [_layer(largest[number], experts) for number in sorted(largest)[:said]]
    return tuple(f"{name}." for name in names), layers * len(names)


def _layer(tensors: Tensors, experts: int | None) -> _Layer:
    """Return a layer with the tensors of its experts apart.

    These are said to be of experts, or have a side for each of as many as the config has.
    """
    plain: dict[str, tuple[int, ...]] = {}
    fused: dict[str, tuple[int, ...]] = {}
    single: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for name, sides in tensors.items():
        if match := _EXPERT.fullmatch(name):
            single[f"{match['before']}.{match['after']}"].append(sides)
        elif len(sides) > _MATRIX and (_FUSED.fullmatch(name) or sides[0] == experts):
            fused[name] = sides
        else:
            plain[name] = sides
    if single:
        count = max(map(len, single.values()))
        first = {n: s[0] for n, s in single.items()}
        return _Layer(plain=plain, experts=count, expert=first, single=True)
    count = max((sides[0] for sides in fused.values()), default=0)
    return _Layer(plain=plain, experts=count, expert={n: s[1:] for n, s in fused.items()})


def _block(name: str) -> str:
    """Return the module of a layer that a tensor is in."""
    return name.partition(".")[0]


def _signature(layer: _Layer) -> tuple[object, ...]:
    """Return what equal layers have in common."""
    return (layer.experts, *sorted(layer.plain.items()), *sorted(layer.expert.items()))


def _is_table(sides: Sequence[int], rows: int) -> bool:
    """Return whether a tensor has a row for each token; some classes pad the table."""
    return len(sides) == _MATRIX and rows <= sides[0] < 2 * rows and sides[1] > 1


def _number(data: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    """Return the first of these keys, in a config or a part of it, that is a positive integer."""
    parts = [data, *(part for key, part in data.items() if key.endswith("_config") and part)]
    values = (part.get(key) for part in parts if isinstance(part, dict) for key in keys)
    return next((value for value in values if type(value) is int and value > 0), None)


def _ends(modules: Iterable[str]) -> Mapping[str, str]:
    """Return the shortest ending of each module's name that no other module has."""
    names = sorted(modules)
    found = {}
    for name in names:
        parts = name.split(".")
        endings = [".".join(parts[n:]) for n in range(len(parts) - 1, -1, -1)]
        alone = (e for e in endings if sum(f".{n}".endswith(f".{e}") for n in names) == 1)
        found[name] = next(alone, name)
    return found


def _linear_shapes(
    layers: Sequence[_Layer], counts: Mapping[int, int], ends: Mapping[str, str]
) -> dict[str, LinearShape]:
    """Return the linear modules of all kinds of layers; `counts` are the layers of each kind."""
    found: dict[str, LinearShape] = {}
    for module, end in ends.items():
        places = [kind for kind, layer in enumerate(layers) if module in layer.linears]
        pairs = [layers[kind].linears[module] for kind in places]
        total = sum(counts[kind] * sum(pair) for kind, pair in zip(places, pairs, strict=True))
        found[end] = LinearShape(
            in_features=max(columns for _, columns in pairs),
            out_features=max(rows for rows, _ in pairs),
            count=sum(counts[kind] for kind in places),
            sides=total if len(set(pairs)) > 1 else None,
            path=module,
        )
    return found


def _kinds(
    layers: Sequence[_Layer], counts: Mapping[int, int], ends: Mapping[str, str]
) -> tuple[LayerKind, ...]:
    return tuple(
        LayerKind(
            mixer=layer.mixer,
            mlp="sparse" if layer.experts else "dense",
            count=counts[kind],
            parameters=layer.parameters,
            linears=tuple(ends[module] for module in layer.linears),
        )
        for kind, layer in enumerate(layers)
    )


def _widest_side(layer: _Layer, hidden: int) -> int:
    """Return the longest side of a module that reads or writes the hidden states, but attention's.

    It is that of one expert in a layer of experts alone.
    """
    pairs = [pair for name, pair in layer.linears.items() if not _ATTENTION.fullmatch(f"{name}.")]
    sides = [max(pair) for pair in pairs if hidden in pair]
    return max(sides, default=_expert_width(layer, hidden) or 4 * hidden)


def _expert_width(layer: _Layer, hidden: int) -> int:
    """Return the width of one expert: the other side of its last projection.

    A fused first projection holds gate and up, and is twice as wide.
    """
    matrices = [sides for sides in layer.expert.values() if len(sides) == _MATRIX]
    others = [next((s for s in sides if s != hidden), hidden) for sides in matrices]
    return min(others, default=0)
