"""Which steps transformers gives a tokenizer by its class, whatever `tokenizer.json` says."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

__all__ = ["find_steps"]

#: Classes that take `tokenizer.json` as it is.
_AS_SAVED: Final = frozenset(
    {"TokenizersBackend", "PythonBackend", "PreTrainedTokenizer", "MistralCommonBackend"}
)


def find_steps(
    model_type: str, tokenizer_class: str | None, *, byte_level: bool
) -> Mapping[str, Any] | None:
    """Return the `normalizer` and `pre_tokenizer` that replace those of `tokenizer.json`.

    None where the file's own are used. Follows `AutoTokenizer.from_pretrained` of the pinned
    transformers; `byte_level` says whether the file is of that kind.
    """
    name = _loaded_class(model_type, tokenizer_class, byte_level=byte_level)
    steps: Mapping[str, Any] = _table()["steps"]
    return steps.get(name)


def _loaded_class(model_type: str, tokenizer_class: str | None, *, byte_level: bool) -> str:
    """Return the name of the class, without the `Fast` of older names."""
    said = None if tokenizer_class is None else tokenizer_class.removesuffix("Fast")
    registered = _table()["registered"].get(model_type)
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
    text = (files("ftc.compiler.knowledge") / name).read_text(encoding="utf-8")
    return cast("Mapping[str, Any]", json.loads(text))
