"""Which multimodal classes tie their output head to the embedding, by what their config says."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ftc.compiler.knowledge.tables import read_table

__all__ = ["ties_head"]

_KEY = "tie_word_embeddings"


def ties_head(wrapper: str, config: Mapping[str, Any], *, text_default: bool) -> bool:
    """Return whether a class ties the head of a model that has none of its own in its weights.

    Some classes read the key of the whole config, some that of its `text_config`, some the second
    without the first, and some tie if either says so. `text_default` is what the text is without.
    """
    entry, inside = _table()["classes"][wrapper], config.get("text_config")
    own = inside.get(_KEY) if isinstance(inside, dict) else None
    said = config.get(_KEY)
    outer = entry["tied"] if said is None else said is True
    text = text_default if own is None else own is True
    first = text if said is None else outer
    found: bool = {"whole": outer, "text": text, "first": first, "either": outer or text}[
        entry["by"]
    ]
    return found


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = read_table(__name__, "tied_heads.json")
    return table
