"""Scoring heads: transformers' classes, and llama.cpp's support for them."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from ftc.compiler.knowledge.architectures.architecture import is_convertible
from ftc.compiler.knowledge.tables import read_table

#: The name of the head in transformers' scoring classes.
SCORE_HEAD: Final = "score"


def find_score_class(model_type: str) -> str | None:
    """Return the class that `AutoModelForSequenceClassification` uses for a model, or None."""
    classes: Mapping[str, str] = _table()["classes"]
    return classes.get(model_type)


def has_gguf_head(model_type: str) -> bool:
    """Return whether llama.cpp's converter supports the scoring class.

    It also accepts `Qwen3ForSequenceClassification`, but as a reranker whose scores are the rows
    `yes` and `no` of the output matrix, not a trained head.
    """
    name = find_score_class(model_type)
    return name is not None and is_convertible(name)


@cache
def _table() -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", read_table(__name__, "score_heads.json"))
