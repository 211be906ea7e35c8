"""The `model_type`s that the pinned transformers has a causal language model for."""

import json
from functools import cache
from importlib.resources import files

__all__ = ["has_causal_class"]


def has_causal_class(model_type: str) -> bool:
    """Tell whether `AutoModelForCausalLM` has a class for a config of this type."""
    return model_type in _types()


@cache
def _types() -> frozenset[str]:
    text = (files("ftc.compiler.knowledge") / "causal_types.json").read_text(encoding="utf-8")
    return frozenset(json.loads(text)["types"])
