"""The table of well-known models, for plans without network access or files."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, Literal

from ftc.compiler.knowledge.architectures.architecture import Shape, read_quantization
from ftc.compiler.knowledge.architectures.encoders import read_headed
from ftc.compiler.knowledge.multimodal.wrappers import Wrapper, find_wrapper, text_config
from ftc.compiler.knowledge.objectives import Head
from ftc.compiler.knowledge.tables import read_table

__all__ = ["KINDS", "Kind", "Model", "all_models", "find_model", "shape_for"]

Kind = Literal["base", "instruct", "encoder", "embedding", "reranker"]
#: The kinds of models for each output.
KINDS: Final[Mapping[Head, tuple[Kind, ...]]] = {
    "tokens": ("base", "instruct"),
    "scores": ("base", "instruct"),
    "vectors": ("embedding", "encoder"),
    "relevance": ("reranker", "encoder"),
}
#: The output whose head is included in the published parameter count of each kind.
_HEADS: Final[Mapping[Kind, Head]] = {
    "base": "tokens",
    "instruct": "tokens",
    "encoder": "vectors",
    "embedding": "vectors",
    "reranker": "relevance",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model of the Hugging Face Hub, as described by its repository.

    `config` holds the keys of its `config.json` that its `Shape` is computed from. `kind`: base and
    instruct models predict tokens, an encoder was trained on masked tokens, an embedding model
    gives vectors, by the `pooling` of its modules.json, a reranker one score; `shape` has the head
    of its kind. `gated`: the terms must be accepted before a download. `languages` are ISO 639-1
    codes, coarse.
    `chat_template` names the format of its chat template ("none" for a plain base model).
    `tokenizer` is a family of `tokenizers.json`. `vocab_tokens` counts the tokenizer's tokens,
    or the embedding rows if that is unknown. `quantized` is how its weights are quantized, None if
    they are not. `convertible`: llama.cpp's converter supports it.
    `published_parameters` is a published count, independent of `config`, or None, and
    `card_parameters` one as a model card rounds it, of a multimodal model with the tower. `source`
    says where `config` was read, `pooling_source` where the pooling was. Of a multimodal model,
    `wrapper` is the class, and `shape` that of the language model inside, with the tower's
    parameters as frozen ones; `vision` has the keys of its `config` that describe the tower, and of
    the settings of its `processor` for images.
    """

    id: str
    licence: str
    gated: bool
    kind: Kind
    pooling: str | None
    languages: tuple[str, ...]
    context_tokens: int
    chat_template: str
    tokenizer: str
    vocab_tokens: int
    convertible: bool
    published_parameters: int | None
    card_parameters: int | None
    source: str
    pooling_source: str | None
    config: Mapping[str, object]
    quantized: str | None
    shape: Shape
    wrapper: Wrapper | None
    vision: Mapping[str, Mapping[str, Any]]


def find_model(name: str) -> Model | None:
    """Return the model with a Hub id, ignoring case, or None."""
    key = name.strip().casefold()
    return _model(key) if key in _by_id() else None


def shape_for(model: Model, head: Head) -> Shape | None:
    """Return the shape with another head; None if its class has no such head."""
    if model.wrapper is not None or _HEADS[model.kind] == head:
        return model.shape
    return read_headed(model.config, head)


@cache
def all_models() -> tuple[Model, ...]:
    """Return every model of the table, sorted by id."""
    return tuple(map(_model, _by_id()))


def model_ids() -> tuple[str, ...]:
    """Return the id of every model of the table, sorted, without deriving their shapes."""
    return tuple(facts["id"] for facts in _by_id().values())


@cache
def _by_id() -> Mapping[str, dict[str, Any]]:
    return {entry["id"].casefold(): entry for entry in read_table(__name__, "models.json")}


@cache
def _model(key: str) -> Model:
    """Return one entry of the table; raises ValueError for a broken entry."""
    facts = _by_id()[key]
    config = facts["config"]
    wrapper = find_wrapper(config)
    text = config if wrapper is None else text_config(config, wrapper) or {}
    shape = read_headed(text, _HEADS[facts["kind"]])
    if shape is None:
        raise ValueError(f"models.json: no architecture reads {facts['id']}")
    if wrapper is not None and wrapper.keeps_tower:
        shape = replace(shape, frozen_parameters=facts["whole_parameters"] - shape.parameters)
    return Model(
        id=facts["id"],
        licence=facts["licence"],
        gated=facts["gated"],
        pooling=facts.get("pooling"),
        kind=facts["kind"],
        languages=tuple(facts["languages"]),
        context_tokens=facts["context_tokens"],
        chat_template=facts["chat_template"],
        tokenizer=facts["tokenizer"],
        vocab_tokens=facts.get("vocab_tokens", shape.vocab),
        convertible=facts["convertible"],
        published_parameters=facts.get("parameters"),
        card_parameters=facts.get("card_parameters"),
        source=facts["source"],
        pooling_source=facts.get("pooling_source"),
        config=config,
        quantized=read_quantization(config) or read_quantization(text),
        shape=shape,
        wrapper=wrapper,
        vision=facts.get("vision", {}),
    )
