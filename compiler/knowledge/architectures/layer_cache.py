"""Counts the numbers that a layer caches per token during generation: its keys and values."""

from collections.abc import Mapping, Sequence
from typing import Final

from ftc.compiler.knowledge.architectures.shape import KEYLESS

__all__ = ["find_cached"]

#: Latent attention caches the output of this module: the latent vector and the rotated part of the
#: keys (`DeepseekV3Attention.forward`; vLLM does the same).
_LATENT: Final = ".kv_a_proj_with_mqa.weight"
_KEY: Final = ".k_proj.weight"
_VALUE: Final = ".v_proj.weight"
#: One vector of DeepSeek-V4 is a head's key and its value.
_JOINT: Final = "self_attn.kv_proj.weight"


def find_cached(
    kinds: Sequence[tuple[str, Mapping[str, Sequence[int]]]], *, alike: int
) -> tuple[int, ...]:
    """Return the numbers that each kind of layer caches per token; () if they are all alike.

    A kind is its mixer, and the sides of its tensors by name; `alike` are the numbers of the keys
    and values of the model's heads.
    """
    own = [_count(mixer, tensors, alike) for mixer, tensors in kinds]
    lent = max((n for (_, t), n in zip(kinds, own, strict=True) if _named(t, _KEY)), default=0)
    found = tuple(
        _borrow(mixer, lent) if n and lent and not _has_keys(tensors) else n
        for (mixer, tensors), n in zip(kinds, own, strict=True)
    )
    usual = tuple(0 if mixer in KEYLESS else alike for mixer, _ in kinds)
    return () if found == usual else found


def _borrow(mixer: str, lent: int) -> int:
    """Return the numbers of a layer without key projections in a model that has some.

    It reads the keys and values of an earlier layer. A layer beside a state space has its own,
    computed with shared weights (Zamba).
    """
    return lent if mixer == "parallel" else 0


def _has_keys(tensors: Mapping[str, Sequence[int]]) -> bool:
    return bool(_named(tensors, _KEY)) or _is_latent(tensors) or _JOINT in tensors


def _is_latent(tensors: Mapping[str, Sequence[int]]) -> bool:
    return bool(_named(tensors, _LATENT))


def _count(mixer: str, tensors: Mapping[str, Sequence[int]], alike: int) -> int:
    """Return the numbers of one kind of layer from its own tensors."""
    if mixer in KEYLESS:
        return 0
    if _is_latent(tensors):
        return sum(tensors[name][0] for name in _named(tensors, _LATENT))
    if _JOINT in tensors:
        return 2 * tensors[_JOINT][0]
    key = _find(tensors, _KEY)
    if key is None:
        return alike
    value = _find(tensors, _VALUE) or key
    return tensors[key][0] + tensors[value][0]


def _named(tensors: Mapping[str, Sequence[int]], end: str) -> list[str]:
    return [name for name in tensors if f".{name}".endswith(end)]


def _find(tensors: Mapping[str, Sequence[int]], end: str) -> str | None:
    """Return the outermost tensor with this name; None if there are several or none."""
    depths = sorted((name.count("."), name) for name in _named(tensors, end))
    alone = len(depths) == 1 or (depths and depths[0][0] < depths[1][0])
    return depths[0][1] if alone else None
