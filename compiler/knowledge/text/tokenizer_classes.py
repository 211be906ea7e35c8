"""The steps of `tokenizer.json` that a tokenizer class of transformers overrides."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from ftc.compiler.knowledge.tables import read_table

__all__ = [
    "LEGACY_CLASSES",
    "find_class_steps",
    "find_class_tokens",
    "find_loaded_class",
    "has_own_tokenizer",
    "is_known_class",
    "uses_file",
]

#: Classes that read a space after each added token only if the tokenizer's config says `legacy`.
LEGACY_CLASSES: Final = ("LlamaTokenizer",)
#: Classes that use `tokenizer.json` unchanged.
_AS_SAVED: Final = frozenset(
    {"TokenizersBackend", "PythonBackend", "PreTrainedTokenizer", "MistralCommonBackend"}
)


def uses_file(name: str) -> bool:
    """Return whether a class uses `tokenizer.json` unchanged."""
    return name in _AS_SAVED


def find_class_steps(name: str) -> Mapping[str, Any] | None:
    """Return the parts of `tokenizer.json` that a class replaces; None if the class is unknown.

    The keys are `normalizer`, `pre_tokenizer`, `decoder`, and `model` (the options of its BPE).
    """
    steps: Mapping[str, Any] = _table()["steps"]
    return steps.get(name)


def find_class_tokens(name: str) -> Mapping[str, str]:
    """Return the special tokens, by role, that a class has if its files name none."""
    tokens: Mapping[str, str] = _table()["tokens"].get(name, {})
    return tokens


def is_known_class(name: str) -> bool:
    """Return whether transformers has a tokenizer class of this name, with or without `Fast`."""
    return name.removesuffix("Fast") in _table()["classes"]


def has_own_tokenizer(model_type: str) -> bool:
    """Return whether transformers has a tokenizer for all models of a type."""
    return model_type in _table()["registered"]


def find_loaded_class(model_type: str, tokenizer_class: str | None, *, byte_level: bool) -> str:
    """Return the class that `AutoTokenizer.from_pretrained` chooses, without the suffix `Fast`.

    Follows the pinned transformers. `tokenizer_class` is that of tokenizer_config.json, which some
    model types ignore. `byte_level` says whether `tokenizer.json` is byte-level.
    """
    said = None if tokenizer_class is None else tokenizer_class.removesuffix("Fast")
    registered = _table()["registered"].get(model_type)
    if said is not None and not is_known_class(said):
        said = "TokenizersBackend"
    distrusted = model_type in _table()["distrusted"]
    if said == "LlamaTokenizer" and byte_level and not distrusted:
        return "TokenizersBackend"
    if said is None:
        return registered or "TokenizersBackend"
    if registered is None or registered == said:
        return said
    if registered in _AS_SAVED:
        return "TokenizersBackend"
    return registered if distrusted else said


@cache
def _table() -> Mapping[str, Any]:
    name = "tokenizer_classes.json"
    return cast("Mapping[str, Any]", read_table(__name__, name))
