"""The `model_type`s for which the pinned transformers has a causal language model."""

from functools import cache

from ftc.compiler.knowledge.tables import read_table

__all__ = ["has_causal_class", "has_renamed_tensors", "reads_ahead", "reads_tokens"]


def has_causal_class(model_type: str) -> bool:
    """Return whether `AutoModelForCausalLM` has a class for a config of this type."""
    return model_type in _types("types")


def reads_tokens(model_type: object) -> bool:
    """Return whether a type's class reads tokens; a draft model reads another model's states."""
    return model_type not in _types("tokenless")


def reads_ahead(model_type: object) -> bool:
    """Return whether a type's class also predicts a token from later tokens."""
    return model_type in _types("ahead")


def has_renamed_tensors(model_type: str) -> bool:
    """Return whether transformers renames the weights of this type when it reads them."""
    return model_type in _types("renamed")


@cache
def _types(which: str) -> frozenset[str]:
    return frozenset(read_table(__name__, "causal_types.json")[which])
