"""The multimodal classes that tie their output head to the embedding, by config keys."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from ftc.compiler.knowledge.tables import read_table

__all__ = ["ties_head"]

_KEY = "tie_word_embeddings"


def ties_head(wrapper: str, config: Mapping[str, Any], *, text_default: bool) -> bool:
    """Return whether a class ties the output head of a model without a head in its weights.

    Some classes read the key at the top of the config, some read it in `text_config`, some fall
    back from the first to the second, and some tie if either is set. `text_default` is the default
    of the text config.
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
