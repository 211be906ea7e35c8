"""The table of well-known models, for plans without network access or files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from ftc.compiler.knowledge.architecture import Shape, read_quantization, read_shape
from ftc.compiler.knowledge.wrappers import Wrapper, find_wrapper, text_config

__all__ = ["Model", "all_models", "find_model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model of the Hugging Face Hub, as described by its repository.

    `config` holds the keys of its `config.json` that its `Shape` is computed from. `gated`: the
    terms must be accepted before a download. `languages` are ISO 639-1 codes, coarse.
    `chat_template` names the format of its chat template ("none" for a plain base model).
    `tokenizer` is a family of `tokenizers.json`. `vocab_tokens` counts the tokenizer's tokens,
    or the embedding rows if that is unknown. `quantized` is how its weights are quantized, None if
    they are not. `convertible`: llama.cpp's converter supports it.
    `published_parameters` is a published count, independent of `config`, or None. `source` says
    where `config` was read. Of a multimodal model, `wrapper` is the class, and `shape` that of the
    language model inside, with the tower's parameters as frozen ones; `vision` has the keys of its
    `config` that describe the tower, and of the settings of its `processor` for images.
    """

    id: str
    licence: str
    gated: bool
    kind: Literal["base", "instruct"]
    languages: tuple[str, ...]
    context_tokens: int
    chat_template: str
    tokenizer: str
    vocab_tokens: int
    convertible: bool
    published_parameters: int | None
    source: str
    config: Mapping[str, object]
    quantized: str | None
    shape: Shape
    wrapper: Wrapper | None
    vision: Mapping[str, Mapping[str, Any]]


def find_model(name: str) -> Model | None:
    """Return the model with a Hub id, ignoring case, or None."""
    facts = _by_id().get(name.strip().casefold())
    return _model(facts) if facts is not None else None


@cache
def all_models() -> tuple[Model, ...]:
    """Return every model of the table, sorted by id."""
    return tuple(map(_model, _by_id().values()))


@cache
def _by_id() -> Mapping[str, dict[str, Any]]:
    text = (files("ftc.compiler.knowledge") / "models.json").read_text(encoding="utf-8")
    return {entry["id"].casefold(): entry for entry in json.loads(text)}


def _model(facts: dict[str, Any]) -> Model:
    """Return one entry of the table; raises ValueError for a broken entry."""
    config = facts["config"]
    wrapper = find_wrapper(config)
    shape = read_shape(config if wrapper is None else text_config(config, wrapper) or {})
    if shape is None:
        raise ValueError(f"models.json: no architecture reads {facts['id']}")
    if wrapper is not None and wrapper.keeps_tower:
        shape = replace(shape, frozen_parameters=facts["whole_parameters"] - shape.parameters)
    return Model(
        id=facts["id"],
        licence=facts["licence"],
        gated=facts["gated"],
        kind=facts["kind"],
        languages=tuple(facts["languages"]),
        context_tokens=facts["context_tokens"],
        chat_template=facts["chat_template"],
        tokenizer=facts["tokenizer"],
        vocab_tokens=facts.get("vocab_tokens", shape.vocab),
        convertible=facts["convertible"],
        published_parameters=facts.get("parameters"),
        source=facts["source"],
        config=config,
        quantized=read_quantization(config),
        shape=shape,
        wrapper=wrapper,
        vision=facts.get("vision", {}),
    )
