"""The widths of a miniature and its attention heads."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.knowledge.architectures.architecture import Shape

__all__ = ["BLOCK", "EXPERT", "INTERMEDIATE", "LAYERS", "Heads", "choose_heads", "shrink_width"]

#: Weights in a block of a K-quant. llama.cpp falls back to another type for other widths.
BLOCK: Final = 256
INTERMEDIATE: Final = 512
EXPERT: Final = 256
LAYERS: Final = 2
_WIDEST: Final = 3 * BLOCK  # still a small model with a vocabulary of 150,000 tokens
_NARROWEST_HEAD: Final = 16
_MOST_SHARED: Final = 16  # query heads per key head
#: Classes that read `head_dim`, as llama.cpp does, although their real configs omit it.
_FREE_HEADS: Final = frozenset({"llama", "mistral", "mixtral"})
#: Classes whose `head_dim` llama.cpp ignores: it takes the model's width over the heads.
_BOUND_HEADS: Final = frozenset({"cohere2", "exaone4"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """The heads of the miniature; `explicit` if `head_dim` does not follow from `hidden`."""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    explicit: bool


def shrink_width(real: int, about: int) -> int:
    """Return a width near `about` with the same greatest common divisor with 256 as `real`."""
    part = math.gcd(real, BLOCK)
    small = about if part == BLOCK else about + part
    return min(real, small)


def choose_heads(shape: Shape, config: Mapping[str, Any]) -> Heads:
    """Keep the number of query heads per key head, and a head's width if the code depends on it.

    For most families llama.cpp requires that all heads together are as wide as the model. Seven
    query heads per key head then fit no small multiple of 256, so the nearest number is used.
    """
    hidden = shrink_width(shape.hidden, BLOCK)
    shared = shape.heads // shape.kv_heads
    own_width = config.get("head_dim") is not None and shape.model_type not in _BOUND_HEADS
    if own_width or shape.heads * shape.head_dim != shape.hidden:
        return _free(shape, hidden)
    exact = next(_coupled(shape, config, shared), None)
    if exact is not None and exact.hidden <= _WIDEST:
        return exact
    if exact is None or shape.model_type in _FREE_HEADS:
        return _free(shape, hidden)
    others = (next(_coupled(shape, config, number), exact) for number in range(2, _MOST_SHARED + 1))
    narrow = (heads for heads in others if heads.hidden <= _WIDEST)

    def distance(heads: Heads) -> tuple[int, int]:
        return abs(heads.heads // heads.kv_heads - shared), heads.hidden

    return min(narrow, key=distance, default=exact)


def _free(shape: Shape, hidden: int) -> Heads:
    """Return heads of the real width, and a hidden width that they divide, if the real ones do.

    Several classes reject a config whose hidden width is not a multiple of the number of heads. If
    no small width is a multiple, the nearest number of query heads per key head with such a width
    is used.
    """
    shared = shape.heads // shape.kv_heads
    own = _free_with(shape, hidden, shared)
    if shape.hidden % shape.heads or not own.hidden % own.heads:
        return own
    near = (n for n in range(1, _MOST_SHARED + 1) if abs(n - shared) <= shared // 4)
    others = [(abs(n - shared), _free_with(shape, hidden, n)) for n in near]
    even = [(far, each) for far, each in others if each.hidden % each.heads == 0]
    return min(even, key=lambda one: (one[0], one[1].hidden), default=(0, own))[1]


def _free_with(shape: Shape, hidden: int, shared: int) -> Heads:
    """Return heads with this number of query heads per key head, and a divisible width, if any."""
    part = math.gcd(shape.heads * shape.head_dim, BLOCK)
    counts = _counts(shape, shared)
    fitting = (n for n in counts if math.gcd(n[0] * shape.head_dim, BLOCK) == part)
    heads, kv_heads = next(fitting, (shape.heads, shape.kv_heads))
    if shape.hidden % shape.heads == 0:
        step = math.gcd(shape.hidden, BLOCK)
        widths = range(hidden, min(shape.hidden, _WIDEST) + 1, step)
        even = (width for width in widths if width % heads == 0)
        hidden = next((width for width in even if math.gcd(width, BLOCK) == step), hidden)
    return Heads(
        hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=shape.head_dim, explicit=True
    )


def _coupled(shape: Shape, config: Mapping[str, Any], shared: int) -> Iterator[Heads]:
    """Yield heads that together are as wide as the model, starting with the narrowest model."""
    part = math.gcd(shape.hidden, BLOCK)
    for hidden in range(part, shape.hidden + 1, part):
        if hidden < min(shape.hidden, BLOCK * 3 // 4) or math.gcd(hidden, BLOCK) != part:
            continue
        for heads, kv_heads in _counts(shape, shared):
            head_dim, rest = divmod(hidden, heads)
            fits = not rest and head_dim % 2 == 0 and head_dim >= min(_NARROWEST_HEAD, part)
            if fits and (head_dim == shape.head_dim or not _has_factors(config)):
                yield Heads(
                    hidden=hidden,
                    heads=heads,
                    kv_heads=kv_heads,
                    head_dim=head_dim,
                    explicit=False,
                )
                break


def _counts(shape: Shape, shared: int) -> Iterator[tuple[int, int]]:
    """Yield (query heads, key heads) to try: several of each if the real model has several."""
    several = (4, 2, 8) if shared == 1 else (2,)
    for kv_heads in (*(n for n in several if n < shape.kv_heads), shape.kv_heads):
        yield shared * kv_heads, kv_heads


def _has_factors(config: Mapping[str, Any]) -> bool:
    """Return whether rotations have a factor per pair of a head's numbers, or a base for them."""
    scaling = config.get("rope_scaling") or config.get("rope_parameters")
    if not isinstance(scaling, Mapping):
        return False
    return "alpha" in scaling or any(isinstance(v, list) for v in scaling.values())
