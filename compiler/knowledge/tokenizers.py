"""Characters per token for each tokenizer family, to estimate lengths without a tokenizer."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TypedDict, cast

__all__ = ["chars_per_token", "tokenizer_families"]


class _Ratio(TypedDict):
    """`like` names the measured family whose ratios an unmeasured family uses."""

    english: float
    other: float
    like: str | None
    source: str


def chars_per_token(family: str, *, english: bool = True) -> float:
    """Return the characters per token of prose; for an unknown family, the lowest of the table.

    The lowest ratio gives the most tokens, so that a length is not underestimated.
    """
    ratios = _families()
    known = [ratios[family]] if family in ratios else list(ratios.values())
    return min(ratio["english"] if english else ratio["other"] for ratio in known)


def tokenizer_families() -> tuple[str, ...]:
    """Return the names of all families."""
    return tuple(_families())


@cache
def _families() -> Mapping[str, _Ratio]:
    text = (files("ftc.compiler.knowledge") / "tokenizers.json").read_text(encoding="utf-8")
    return cast("dict[str, _Ratio]", json.loads(text)["families"])
