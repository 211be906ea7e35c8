"""The quality loss of each GGUF type, as published by llama.cpp for an 8B model."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypedDict, cast

from ftc.compiler.knowledge.tables import read_table
from ftc.spec.sections import GgufType

__all__ = ["Published", "published"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """An 8B model in one type compared with 16 bits, on running text.

    `divergence` is the mean KL divergence in nats per token. `perplexity_ratio` is the perplexity
    divided by the 16-bit perplexity. `agreement` is the fraction of tokens at which both rank the
    same token first. If none is published, it is that of the next type with a higher divergence,
    or 0.
    """

    divergence: float
    perplexity_ratio: float
    agreement: float


def published(kind: GgufType) -> Published:
    """Return the figures of one type."""
    figures = _types()[kind]
    worse = [each for each in _types().values() if each["divergence"] >= figures["divergence"]]
    told = [each for each in worse if each["agreement"] is not None]
    nearest = min(told, key=lambda each: each["divergence"], default=None)
    return Published(
        divergence=figures["divergence"],
        perplexity_ratio=figures["perplexity_ratio"],
        agreement=(nearest["agreement"] if nearest else None) or 0.0,
    )


class _Figures(TypedDict):
    divergence: float
    perplexity_ratio: float
    agreement: float | None


@cache
def _types() -> Mapping[str, _Figures]:
    return cast("dict[str, _Figures]", read_table(__name__, "gguf_quality.json")["types"])
