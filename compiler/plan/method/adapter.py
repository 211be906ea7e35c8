"""The trained weights of a method: an adapter and its targets, or some layers; QLoRA's base."""

import math
import re
from dataclasses import dataclass

from ftc.compiler.knowledge.architectures.architecture import Shape, count_adapter_parameters
from ftc.compiler.knowledge.architectures.encoders import is_encoder
from ftc.compiler.knowledge.architectures.module_names import find_module_names
from ftc.compiler.knowledge.architectures.shape import is_router
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.training.peft_targets import is_bypassed, is_redirected, is_unlearned
from ftc.compiler.plan.decision import Because, Decision, decide, derived, keep
from ftc.compiler.plan.objective.comparison import PAIRING
from ftc.compiler.plan.objective.sampling import samples
from ftc.compiler.resolve.patterns import SlowPatternError, match_texts
from ftc.spec.sections import Init, Method, Part, Quantization, Spec

_SHARE = 4  # the last quarter of the layers
ALL_LINEAR = "all-linear"  # PEFT's own word, for an architecture that the table lacks
_ATTENTION = (
    "q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "out_proj", "dense", "query_key_value",
    "c_attn", "Wqkv", "attn", "self_attn", "attention", "q_a_proj", "q_b_proj",
    "kv_a_proj_with_mqa", "kv_b_proj",
)  # fmt: skip
#: Blocks called attention, and the projections of queries, keys and values in other blocks.
_IN_ATTENTION = re.compile(
    r"(?:^|\.)(?:\w*(?:attn|attention)\.|(?:[qkvo]_proj|w[qkvo]|w?qkv\w*|query|key|value)$)",
    re.IGNORECASE,
)
_TEXT_RANK = 64
_ONE_OUTPUT = 2  # the least width of a module where the config has no heads
_SMALL_PARAMETERS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Freezing:
    """The numbers of the trained layers, counted from 0, and how many weights are trained."""

    layers: Decision[tuple[int, ...]]
    parameters: int
    frozen_layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """The decided adapter, the parameters it trains, and how QLoRA quantizes the base.

    A field that is None is not used. `modules` are the linear modules of the shape that the
    targets name. `first_layer` is the first layer with an adapter, counted from 0.
    """

    rank: Decision[int]
    alpha: Decision[int]
    dropout: Decision[float]
    targets: Decision[tuple[str, ...]]
    pattern: Decision[str] | None
    experts: Decision[bool] | None
    loraplus_ratio: Decision[float] | None
    rslora: Decision[bool] | None
    dora: Decision[bool] | None
    init: Decision[Init] | None
    quantization: Decision[Quantization] | None
    double_quantization: Decision[bool] | None
    parameters: int
    modules: tuple[str, ...]
    first_layer: int


def decide_adapter(spec: Spec, shape: Shape) -> Adapter | None:
    """Return the adapter of a LoRA or QLoRA fine-tune, None under a full one.

    The targets are all linear layers, as attention alone learns less at equal size (QLoRA, arXiv
    2305.14314, section 4). Alpha is twice the rank. QLoRA's base is in NF4, the most accurate of
    the 4-bit formats (table 2 there). Continued pretraining takes rank 64, as low ranks learn less
    from text (arXiv 2405.09673, section 4).
    """
    method = spec.method
    if method.type not in ("lora", "qlora"):
        return None

    def derive_rank() -> tuple[int, Because]:
        values = {"parameters": shape.parameters}
        if spec.objective.type == "cpt":
            return _TEXT_RANK, Because(key="lora_rank.text")
        if shape.parameters < _SMALL_PARAMETERS:
            return 32, Because(key="lora_rank.small", values=values)
        return 16, Because(key="lora_rank.usual", values=values)

    rank = decide(spec, "/method/rank", spec.method.rank, derive_rank)

    def derive_alpha() -> tuple[int, Because]:
        if method.rslora:
            alpha = max(1, round(2 * math.sqrt(rank.value)))
            return alpha, Because(key="lora_alpha.rslora", values={"rank": rank.value})
        return 2 * rank.value, Because(key="lora_alpha", values={"rank": rank.value})

    targets, pattern = _targets(spec, shape), method.target_pattern
    ratio = method.loraplus_ratio
    return Adapter(
        rank=rank,
        alpha=decide(spec, "/method/alpha", spec.method.alpha, derive_alpha),
        dropout=_dropout(spec),
        targets=targets,
        pattern=keep(spec, "/method/target_pattern", pattern) if pattern is not None else None,
        experts=keep(spec, "/method/experts", method.experts) if method.experts else None,
        loraplus_ratio=keep(spec, "/method/loraplus_ratio", ratio) if ratio is not None else None,
        rslora=keep(spec, "/method/rslora", method.rslora) if method.rslora else None,
        dora=keep(spec, "/method/dora", method.dora) if method.dora else None,
        init=keep(spec, "/method/init", method.init) if method.init != "default" else None,
        quantization=_quantization(spec),
        double_quantization=keep(spec, "/method/double_quantization", method.double_quantization)
        if method.type == "qlora" and method.quantization == "nf4"
        else None,
        parameters=_count(spec, shape, targets.value, rank.value),
        modules=hit(shape, targets.value),
        first_layer=_first_layer(spec, shape),
    )


def _quantization(spec: Spec) -> Decision[Quantization] | None:
    if spec.method.type != "qlora":
        return None
    if "/method/quantization" in spec.said:
        return keep(spec, "/method/quantization", spec.method.quantization)
    return derived(spec.method.quantization, "quantization.nf4")


def _first_layer(spec: Spec, shape: Shape) -> int:
    """Return the number of the first layer with an adapter; 0 where that is not known."""
    pattern = spec.method.target_pattern
    if pattern is None or spec.method.experts:
        return 0
    return min((layer for _, layer in matched(shape, pattern)), default=0)


def _count(spec: Spec, shape: Shape, targets: tuple[str, ...], rank: int) -> int:
    """Return how many weights are trained: adapters, those of experts, and whole modules."""
    method = spec.method
    parts = part_parameters(spec, shape) + token_parameters(spec, shape)
    experts = expert_adapter_parameters(shape, rank) if method.experts else 0
    if ALL_LINEAR in targets:
        experts += expert_module_parameters(shape, rank)
    if method.target_pattern is None or find_module_names(shape.architecture) is None:
        return adapter_parameters(shape, targets, rank, dora=method.dora) + experts + parts
    layers = dict.fromkeys(targets, 0)
    for kind, _ in matched(shape, method.target_pattern):
        layers[kind] += 1
    each = {k: adapter_parameters(shape, (k,), rank, dora=method.dora) for k in targets}
    counts = {k: shape.linear_shapes[k].count for k in targets}
    return sum(each[k] * n // counts[k] for k, n in layers.items()) + experts + parts


def matched(shape: Shape, pattern: str) -> tuple[tuple[str, int], ...]:
    """Return (kind, layer) of the linear modules whose full name matches, as PEFT matches them.

    Empty where the names of the architecture are not known, and where the pattern is not a regular
    expression or takes too long to match.
    """
    names = find_module_names(shape.architecture)
    if names is None:
        return ()
    modules = [
        (kind, layer)
        for kind in linear_modules(shape)
        for layer in range(shape.layers)
        if shape.has_linear(kind, layer)
    ]
    texts = tuple(names.linear(kind, layer) for kind, layer in modules)
    try:
        hits = match_texts(pattern, texts, "fullmatch")
    except (re.error, OverflowError, RecursionError, SlowPatternError):
        return ()
    return tuple(module for module, hit in zip(modules, hits, strict=True) if hit)


def expert_adapter_parameters(shape: Shape, rank: int) -> int:
    """Return how many weights LoRA has on fused experts: two matrices per expert and tensor.

    One tensor holds gate and up, one down (peft 0.21 `ParamWrapper`).
    """
    inner, hidden = shape.expert_intermediate, shape.hidden
    return rank * shape.experts * shape.sparse_layers() * (hidden + 2 * inner + inner + hidden)


def expert_module_parameters(shape: Shape, rank: int) -> int:
    """Return how many weights LoRA has on the linear modules of all experts."""
    sides = sum(map(sum, shape.expert_modules))
    return rank * shape.experts * shape.sparse_layers() * sides


def _dropout(spec: Spec) -> Decision[float]:
    if spec.objective.type in PAIRING:
        return derived(0.0, "lora_dropout.comparing")
    if samples(spec.objective):
        return derived(0.0, "lora_dropout.sampling")
    if "/method/dropout" not in spec.said and spec.method.experts:
        return derived(0.0, "lora_dropout.experts")
    if "/method/dropout" not in spec.said and spec.method.dora:
        return derived(0.0, "lora_dropout.dora")
    return keep(spec, "/method/dropout", spec.method.dropout)


def adapter_parameters(
    shape: Shape, targets: tuple[str, ...], rank: int, *, dora: bool = False
) -> int:
    """Return how many weights an adapter has: LoRA's two matrices, DoRA's magnitude per output."""
    names = hit(shape, targets)
    kinds = [shape.linear_shapes[name] for name in names]
    magnitudes = sum(kind.count * kind.out_features for kind in kinds) if dora else 0
    return count_adapter_parameters(shape, names, rank) + magnitudes


def hit(shape: Shape, targets: tuple[str, ...]) -> tuple[str, ...]:
    """Return the linear modules of a shape that the targets name, as PEFT matches suffixes."""
    return tuple(
        name
        for name in linear_modules(shape)
        if ALL_LINEAR in targets
        or any(name == t or name.endswith(f".{t}") or t.endswith(f".{name}") for t in targets)
    )


def linear_modules(shape: Shape) -> tuple[str, ...]:
    """Return the names of the linear modules, attention first."""

    def place(name: str) -> tuple[int, str]:
        first = name.split(".", maxsplit=1)[0]
        return (_ATTENTION.index(first) if first in _ATTENTION else len(_ATTENTION), name)

    return tuple(sorted(shape.linear_shapes, key=place))


def attention_modules(shape: Shape) -> tuple[str, ...]:
    """Return the linear modules of the attention blocks, by their places in a layer."""
    paths = _paths(shape)
    return tuple(name for name in linear_modules(shape) if _IN_ATTENTION.search(paths[name]))


def _paths(shape: Shape) -> dict[str, str]:
    """Return the name of each linear module in its layer."""
    names = find_module_names(shape.architecture)
    paths = {name: linear.path for name, linear in shape.linear_shapes.items()}
    return paths if names is None else {**paths, **names.linears}


def _routers(shape: Shape) -> tuple[str, ...]:
    """Return the linear modules of the routers.

    An adapter on a router would change the load of the experts.
    """
    paths = _paths(shape) if shape.experts else {}
    return tuple(name for name, path in paths.items() if is_router(path))


def _narrow(shape: Shape) -> tuple[str, ...]:
    """Return the linear modules with fewer outputs or inputs than an attention head.

    What projects hidden states has whole heads, or more. Narrower modules give a number per head,
    stream or expert, such as the gate of a shared expert and the decays of a linear attention, or
    are of a low rank already. The adapter of such a module is about as large as the module.
    """
    least = min(shape.head_dim, shape.hidden) if shape.heads > 1 else _ONE_OUTPUT
    return tuple(
        name
        for name, linear in shape.linear_shapes.items()
        if min(linear.out_features, linear.in_features) < least
    )


def _targets(spec: Spec, shape: Shape) -> Decision[tuple[str, ...]]:
    """Names of linear modules; the output head is never among them."""
    written, pattern = spec.method.targets, spec.method.target_pattern
    if pattern is not None and find_module_names(shape.architecture) is not None:
        kinds = {kind for kind, _ in matched(shape, pattern)}
        found = tuple(kind for kind in linear_modules(shape) if kind in kinds)
        return derived(found, "lora_targets.pattern", modules=len(found))
    if isinstance(written, tuple):
        return keep(spec, "/method/targets", written)
    attention = attention_modules(shape) if written == "attention" else ()
    is_known = shape.linear_shapes and find_module_names(shape.architecture) is not None
    if not attention and not is_known:
        key = "lora_targets.encoder" if is_encoder(shape.architecture) else "lora_targets.unknown"
        return derived((ALL_LINEAR,), key, architecture=shape.architecture)
    routers, narrow = _routers(shape), _narrow(shape)
    without = {*routers, *narrow}
    names = tuple(name for name in attention or linear_modules(shape) if name not in without)
    idle = (is_bypassed, is_unlearned)
    names = tuple(n for n in names if not any(has(shape.architecture, n) for has in idle))
    left = tuple(name for name in names if is_redirected(shape.model_type, name))
    names = tuple(name for name in names if name not in left)
    if written == "auto" and left:
        said = ", ".join(dict.fromkeys(f"`{name.rpartition('.')[2]}`" for name in left))
        return derived(names, "lora_targets.apart", modules=len(names), left=said)
    if written == "auto":
        key = "lora_targets.routers" if routers else "lora_targets.all"
        key = "lora_targets.narrow" if narrow else key
        return derived(names, key, modules=len(names))
    return keep(spec, "/method/targets", names)


def decide_freezing(spec: Spec, shape: Shape) -> Freezing | None:
    """Return what a fine-tune of some layers trains, None under other methods.

    The default is the last quarter of the layers. No backward pass reaches below the first trained
    layer unless the embeddings are trained.
    """
    if spec.method.type != "freeze":
        return None
    written = spec.method.layers

    def derive() -> tuple[tuple[int, ...], Because]:
        count = max(1, shape.layers // _SHARE)
        values = {"count": count, "layers": shape.layers}
        return _last(shape, count), Because(key="trained_layers.quarter", values=values)

    if isinstance(written, int):
        layers = keep(spec, "/method/layers", _last(shape, written))
    else:
        layers = decide(spec, "/method/layers", written, derive)
    inside = [layer for layer in layers.value if layer < shape.layers]
    each = [shape.kinds[kind].parameters for kind in shape.order]
    sizes = each or [shape.largest_layer_parameters] * shape.layers
    outside, embeds = part_parameters(spec, shape), trains_embedding(spec.method, shape)
    return Freezing(
        layers=layers,
        parameters=sum(sizes[layer] for layer in inside) + outside,
        frozen_layers=0 if embeds else min(inside, default=0),
    )


def decide_parts(spec: Spec) -> Decision[tuple[Part, ...]] | None:
    """Decide which modules are trained whole beside layers or an adapter; None for none."""
    parts = spec.method.also_train
    return keep(spec, "/method/also_train", parts) if parts else None


def decide_new_tokens(spec: Spec) -> Decision[int] | None:
    """Decide how many tokens are added; None for none."""
    count = len(spec.model.new_tokens)
    return derived(count, "new_tokens", field="model.new_tokens") if count else None


def token_parameters(spec: Spec, shape: Shape) -> int:
    """Return the weights of the rows of new tokens, in tables that are not trained whole."""
    tables = int(not trains_embedding(spec.method, shape))
    tables += int(not shape.tied and not trains_head(spec, shape))
    return len(spec.model.new_tokens) * shape.hidden * tables


def part_parameters(spec: Spec, shape: Shape) -> int:
    """Return the weights of the modules outside the layers that are trained whole."""
    head = shape.head_parameters if trains_head(spec, shape) and not shape.tied else 0
    return head + (shape.embedding_parameters if trains_embedding(spec.method, shape) else 0)


def trains_embedding(method: Method, shape: Shape) -> bool:
    """Whether the embedding is trained whole; a tied head is the embedding."""
    parts = method.also_train
    return "embeddings" in parts or (shape.tied and "head" in parts)


def trains_head(spec: Spec, shape: Shape) -> bool:
    """Whether the output head is trained whole, as a new classification head always is."""
    parts = spec.method.also_train
    if OBJECTIVES[spec.objective.type].head == "scores":
        return True
    return "head" in parts or (shape.tied and "embeddings" in parts)


def _last(shape: Shape, count: int) -> tuple[int, ...]:
    return tuple(range(max(0, shape.layers - count), shape.layers))
