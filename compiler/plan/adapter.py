"""The LoRA adapter: its rank, its targets, how many weights it adds, and QLoRA's base."""

import math
import re
from dataclasses import dataclass

from ftc.compiler.knowledge.architecture import Shape, count_adapter_parameters
from ftc.compiler.knowledge.module_names import find_module_names
from ftc.compiler.plan.comparison import PAIRING
from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.freezing import part_parameters, token_parameters
from ftc.compiler.plan.sampling import samples
from ftc.compiler.plan.source import decide, derived, keep
from ftc.compiler.resolve.patterns import SlowPatternError, match_texts
from ftc.spec.sections import Init, Quantization, Spec

ALL_LINEAR = "all-linear"  # PEFT's own word, for an architecture that the table lacks
_ATTENTION = (
    "q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "out_proj", "dense", "query_key_value",
    "c_attn", "Wqkv", "attn", "self_attn", "attention",
)  # fmt: skip
_SMALL_PARAMETERS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """The decided adapter, the parameters it trains, and how QLoRA rounds what it stands on.

    What is None is not used: a pattern in place of names, matrices on experts, another scale, start
    or split of an update. `first_layer` is the first that has an adapter, from 0.
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
    first_layer: int


def decide_adapter(spec: Spec, shape: Shape) -> Adapter | None:
    """Return the adapter of a LoRA or QLoRA fine-tune, None under a full one.

    All linear layers, since attention alone learns less at equal size (QLoRA, arXiv 2305.14314,
    section 4); alpha is twice the rank. QLoRA's base is in NF4, which loses least of the 4-bit
    formats (table 2 there).
    """
    method = spec.method
    if method.type not in ("lora", "qlora"):
        return None

    def derive_rank() -> tuple[int, Because]:
        values = {"parameters": shape.parameters}
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
        first_layer=_first_layer(spec, shape),
    )


def _quantization(spec: Spec) -> Decision[Quantization] | None:
    if spec.method.type != "qlora":
        return None
    if "/method/quantization" in spec.said:
        return keep(spec, "/method/quantization", spec.method.quantization)
    return derived(spec.method.quantization, "quantization.nf4")


def _first_layer(spec: Spec, shape: Shape) -> int:
    """Return the number of the first layer that has an adapter; 0 where that is not known."""
    pattern = spec.method.target_pattern
    if pattern is None or spec.method.experts:
        return 0
    return min((layer for _, layer in matched(shape, pattern)), default=0)


def _count(spec: Spec, shape: Shape, targets: tuple[str, ...], rank: int) -> int:
    """Return all weights that move: adapters, on experts too, and what is trained whole."""
    method = spec.method
    parts = part_parameters(spec, shape) + token_parameters(spec, shape)
    experts = expert_adapter_parameters(shape, rank) if method.experts else 0
    if method.target_pattern is None or find_module_names(shape.architecture) is None:
        return adapter_parameters(shape, targets, rank, dora=method.dora) + experts + parts
    layers = dict.fromkeys(targets, 0)
    for kind, _ in matched(shape, method.target_pattern):
        layers[kind] += 1
    each = {k: adapter_parameters(shape, (k,), rank, dora=method.dora) for k in targets}
    return sum(each[k] * n // shape.layers for k, n in layers.items()) + experts + parts


def matched(shape: Shape, pattern: str) -> tuple[tuple[str, int], ...]:
    """Return (kind, layer) of the linear modules whose whole name matches, as PEFT looks.

    Nothing where the architecture's names are not known, or the pattern is no regular expression,
    or one that takes for ever.
    """
    names = find_module_names(shape.architecture)
    if names is None:
        return ()
    modules = [(kind, layer) for kind in linear_modules(shape) for layer in range(shape.layers)]
    texts = tuple(names.linear(kind, layer) for kind, layer in modules)
    try:
        hits = match_texts(pattern, texts, "fullmatch")
    except (re.error, OverflowError, RecursionError, SlowPatternError):
        return ()
    return tuple(module for module, hit in zip(modules, hits, strict=True) if hit)


def expert_adapter_parameters(shape: Shape, rank: int) -> int:
    """Return LoRA's weights on fused experts: a pair of matrices for each expert of each tensor.

    One tensor holds gate and up, one down (peft 0.21 `ParamWrapper`).
    """
    inner, hidden = shape.expert_intermediate, shape.hidden
    return rank * shape.experts * shape.layers * (hidden + 2 * inner + inner + hidden)


def _dropout(spec: Spec) -> Decision[float]:
    if spec.objective.type in PAIRING:
        return derived(0.0, "lora_dropout.comparing")
    if samples(spec):
        return derived(0.0, "lora_dropout.sampling")
    if "/method/dropout" not in spec.said and spec.method.experts:
        return derived(0.0, "lora_dropout.experts")
    if "/method/dropout" not in spec.said and spec.method.dora:
        return derived(0.0, "lora_dropout.dora")
    return keep(spec, "/method/dropout", spec.method.dropout)


def adapter_parameters(
    shape: Shape, targets: tuple[str, ...], rank: int, *, dora: bool = False
) -> int:
    """Return the weights of an adapter: LoRA's two matrices, and DoRA's magnitude per output."""
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
    """Return the names of the linear modules, attention first; the shape's own order is no fact."""

    def place(name: str) -> tuple[int, str]:
        first = name.split(".", maxsplit=1)[0]
        return (_ATTENTION.index(first) if first in _ATTENTION else len(_ATTENTION), name)

    return tuple(sorted(shape.linear_shapes, key=place))


def attention_modules(shape: Shape) -> tuple[str, ...]:
    """Return the linear modules of the attention blocks."""
    return tuple(name for name in linear_modules(shape) if name.split(".")[0] in _ATTENTION)


def _targets(spec: Spec, shape: Shape) -> Decision[tuple[str, ...]]:
    """Names of linear modules; the output head is never among them."""
    written, pattern = spec.method.targets, spec.method.target_pattern
    if pattern is not None and find_module_names(shape.architecture) is not None:
        kinds = {kind for kind, _ in matched(shape, pattern)}
        found = tuple(kind for kind in linear_modules(shape) if kind in kinds)
        return derived(found, "lora_targets.pattern", modules=len(found))
    if isinstance(written, tuple):
        return keep(spec, "/method/targets", written)
    if not shape.linear_shapes:
        return derived((ALL_LINEAR,), "lora_targets.unknown", architecture=shape.architecture)
    names = attention_modules(shape) if written == "attention" else linear_modules(shape)
    if written == "auto":
        return derived(names, "lora_targets.all", modules=len(names))
    return keep(spec, "/method/targets", names)
