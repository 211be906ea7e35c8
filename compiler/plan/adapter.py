"""The LoRA adapter: its rank, its targets, how many weights it adds, and QLoRA's base."""

from dataclasses import dataclass

from ftc.compiler.knowledge.architecture import Shape, count_adapter_parameters
from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.plan import Quantization
from ftc.compiler.plan.source import decide, derived, keep
from ftc.spec.sections import Spec

ALL_LINEAR = "all-linear"  # PEFT's own word, for an architecture that the table lacks
_ATTENTION = (
    "q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "out_proj", "dense", "query_key_value",
    "c_attn", "Wqkv", "attn", "self_attn", "attention",
)  # fmt: skip
_SMALL_PARAMETERS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """The decided adapter, the parameters it trains, and how QLoRA rounds what it stands on."""

    rank: Decision[int]
    alpha: Decision[int]
    dropout: Decision[float]
    targets: Decision[tuple[str, ...]]
    quantization: Decision[Quantization] | None
    double_quantization: Decision[bool] | None
    parameters: int


def decide_adapter(spec: Spec, shape: Shape) -> Adapter | None:
    """Return the adapter of a LoRA or QLoRA fine-tune, None under a full one.

    All linear layers, since attention alone learns less at equal size (QLoRA, arXiv 2305.14314,
    section 4); alpha is twice the rank. QLoRA's base is in NF4, which loses least of the 4-bit
    formats (table 2 there).
    """
    if spec.method.type == "full":
        return None
    rounded = spec.method.type == "qlora"

    def derive_rank() -> tuple[int, Because]:
        values = {"parameters": shape.parameters}
        if shape.parameters < _SMALL_PARAMETERS:
            return 32, Because(key="lora_rank.small", values=values)
        return 16, Because(key="lora_rank.usual", values=values)

    rank = decide(spec, "/method/rank", spec.method.rank, derive_rank)

    def derive_alpha() -> tuple[int, Because]:
        return 2 * rank.value, Because(key="lora_alpha", values={"rank": rank.value})

    targets = _targets(spec, shape)
    return Adapter(
        rank=rank,
        alpha=decide(spec, "/method/alpha", spec.method.alpha, derive_alpha),
        dropout=keep(spec, "/method/dropout", spec.method.dropout),
        targets=targets,
        quantization=derived("nf4", "quantization.nf4") if rounded else None,
        double_quantization=keep(
            spec, "/method/double_quantization", spec.method.double_quantization
        )
        if rounded
        else None,
        parameters=adapter_parameters(shape, targets.value, rank.value),
    )


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
    written = spec.method.targets
    if isinstance(written, tuple):
        return keep(spec, "/method/targets", written)
    if not shape.linear_shapes:
        return derived((ALL_LINEAR,), "lora_targets.unknown", architecture=shape.architecture)
    names = attention_modules(shape) if written == "attention" else linear_modules(shape)
    if written == "auto":
        return derived(names, "lora_targets.all", modules=len(names))
    return keep(spec, "/method/targets", names)
