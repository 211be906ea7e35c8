"""What each GGUF type loses, as llama.cpp publishes it: the yardstick of a verified export."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypedDict, cast

from ftc.spec.sections import GgufType

__all__ = ["Published", "published"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """An 8B model of one type against its 16 bits, on running text.

    `divergence` is the mean KL divergence in nats per token, `perplexity_ratio` the perplexity over
    that of 16 bits, `agreement` the share of tokens at which both find the same one most likely:
    where none is published, that of the nearest type which diverges more, 0 where there is none.
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
    text = (files("ftc.compiler.knowledge") / "gguf_quality.json").read_text(encoding="utf-8")
    return cast("dict[str, _Figures]", json.loads(text)["types"])
