"""How many numbers a layer keeps of a token while a model generates: its keys and values."""

from collections.abc import Mapping, Sequence
from typing import Final

from ftc.compiler.knowledge.shape import RECURRENT

__all__ = ["find_cached"]

#: Latent attention keeps what this module gives: the latent vector and the rotated part of the
#: keys (`DeepseekV3Attention.forward`; vLLM does the same).
_LATENT: Final = "kv_a_proj_with_mqa.weight"
_KEY: Final = ".k_proj.weight"
_VALUE: Final = ".v_proj.weight"
#: One vector of DeepSeek-V4 is a head's key and its value.
_JOINT: Final = "self_attn.kv_proj.weight"
_WITHOUT: Final = RECURRENT - {"parallel"} | {"none"}


def find_cached(
    kinds: Sequence[tuple[str, Mapping[str, Sequence[int]]]], *, alike: int
) -> tuple[int, ...]:
    """Return the numbers that a layer of each kind caches of a token; () if all that attend do so.

    A kind is its mixer, and the sides of its tensors by name; `alike` is what the keys and values
    of the model's heads make up.
    """
    shared = any(_named(tensors, _KEY) for mixer, tensors in kinds if mixer not in _WITHOUT)
    found = tuple(_count(mixer, tensors, alike, shared=shared) for mixer, tensors in kinds)
    usual = tuple(0 if mixer in _WITHOUT else alike for mixer, _ in kinds)
    return () if found == usual else found


def _count(mixer: str, tensors: Mapping[str, Sequence[int]], alike: int, *, shared: bool) -> int:
    """Return the numbers of one kind of layer.

    Where others have projections of their own (`shared`), a layer of attention without them reads
    the keys and values of an earlier layer. One beside a state space reads its own, by weights that
    it shares (Zamba).
    """
    if mixer in _WITHOUT:
        return 0
    latent = [sides[0] for name, sides in tensors.items() if name.endswith(_LATENT)]
    if latent:
        return sum(latent)
    if _JOINT in tensors:
        return 2 * tensors[_JOINT][0]
    key = _find(tensors, _KEY)
    if key is None:
        has_none = shared and mixer != "parallel" and not _named(tensors, _KEY)
        return 0 if has_none else alike
    value = _find(tensors, _VALUE) or key
    return tensors[key][0] + tensors[value][0]


def _named(tensors: Mapping[str, Sequence[int]], end: str) -> list[str]:
    return [name for name in tensors if f".{name}".endswith(end)]


def _find(tensors: Mapping[str, Sequence[int]], end: str) -> str | None:
    """Return the outermost tensor of this name; None for several, and for none."""
    depths = sorted((name.count("."), name) for name in _named(tensors, end))
    alone = len(depths) == 1 or (depths and depths[0][0] < depths[1][0])
    return depths[0][1] if alone else None
