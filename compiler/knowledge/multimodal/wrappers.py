"""Multimodal classes with a language model inside, which can be trained on text alone.

`.ci/wrappers.py` derives the entries of `wrappers.json`. The test of this table holds it against
the classes of the pinned transformers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from ftc.compiler.knowledge.architectures.architecture import (
    class_of_type,
    is_convertible,
    is_respelt,
)
from ftc.compiler.knowledge.architectures.config_types import find_section
from ftc.compiler.knowledge.tables import read_table

__all__ = [
    "TEXT_CLASS_KEY",
    "Wrapper",
    "find_wrapper",
    "lacks_text_class",
    "text_config",
    "wrapper_named",
]

#: The place where a config names the class of its language model.
TEXT_CLASS_KEY: Final = "text_config.architectures"

#: The keys of a flat config that do not belong to the language model.
_OUTSIDE: Final = ("architectures", "model_type", "vision_config")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """One class `...ForConditionalGeneration`.

    `loads` is what transformers makes of its `config.json`: `causal` if `AutoModelForCausalLM`
    builds the wrapper itself, with its tower; `text` if it builds the class of the language model
    alone, and drops the tower's weights; `image-text` if only `AutoModelForImageTextToText` loads
    it. `text` is the class whose tensors the language model has, `prefix` the path of its layers'
    parent in the loaded model, and `text_types` the model types of its `text_config`, whose
    missing keys are the `defaults` where those are not the ones of the text model. With `any_text`
    it may contain every type that ftc knows, each with its own class. `flat`: repositories have the
    keys of the language model beside `vision_config`, without a `text_config`. `whole`: the class
    itself has them there, and no section for them. `timm`: the tower is
    built by the package of that name, without which the class does not load. `asks_types`: in
    training the class requires token type ids, which rows of text do not have. `also` are further
    model types that transformers reads with this class.
    """

    architecture: str
    model_type: str
    loads: Literal["causal", "text", "image-text"]
    text: str
    prefix: str
    text_types: tuple[str, ...]
    defaults: Mapping[str, int | bool]
    any_text: bool = False
    flat: bool = False
    whole: bool = False
    timm: bool = False
    asks_types: bool = False
    also: tuple[str, ...] = ()

    def has_type(self, model_type: object) -> bool:
        """Return whether transformers reads a config of this type with the class."""
        return model_type in (self.model_type, *self.also)

    @property
    def keeps_tower(self) -> bool:
        """Whether the tower's weights are in memory beside those of the language model."""
        return self.loads != "text"

    @property
    def image_prefix(self) -> str:
        """The path of the layers' parent where the tower is loaded too, for data with images."""
        return self.prefix if self.keeps_tower else "model.language_model"


def find_wrapper(config: Mapping[str, Any]) -> Wrapper | None:
    """Return the wrapper that a `config.json` describes; None for any other model."""
    names, kind = config.get("architectures"), config.get("model_type")
    found = next((w for w in _table().values() if w.has_type(kind)), None)
    if isinstance(names, list) and names:
        respelt = found is not None and is_respelt(names[0], found.architecture)
        named = _table().get(names[0]) if isinstance(names[0], str) else None
        found = named or (found if respelt else None)
    if found is None or isinstance(config.get("text_config"), dict):
        return found
    if found.whole:
        return found if found.has_type(kind) else None
    return found if found.flat and kind not in found.text_types else None


def wrapper_named(architecture: str | None) -> Wrapper | None:
    """Return the wrapper of this class; None for any other class or for None."""
    return None if architecture is None else _table().get(architecture)


def lacks_text_class(config: Mapping[str, Any], wrapper: str, text: str) -> bool:
    """Return whether llama.cpp's converter needs a name of the language model that is missing."""
    inside = config.get("text_config")
    named = isinstance(inside, dict) and bool(inside.get("architectures"))
    return not named and is_convertible(text) and not is_convertible(wrapper)


def text_config(config: Mapping[str, Any], wrapper: Wrapper) -> dict[str, Any] | None:
    """Return the config of the language model's own class; None for another text model."""
    text = _inside(config)
    kind = text.get("model_type", wrapper.text_types[0])
    section = find_section(wrapper.model_type, "text_config")
    if section is not None:
        kind = section.read_type(kind)
    own = wrapper.text if kind in wrapper.text_types else None
    if own is None and wrapper.any_text and isinstance(kind, str):
        own = class_of_type(kind)
    if own is None:
        return None
    if "tie_word_embeddings" in config:
        text.setdefault("tie_word_embeddings", config["tie_word_embeddings"])
    dtype = config.get("dtype") or config.get("torch_dtype")
    if dtype is not None:  # the dtype of the whole model applies, under any of its names
        text = {**text, "dtype": dtype}
    for key in ("quantization_config", "compression_config"):
        if key in config:
            text[key] = config[key]
    if "num_local_experts" in text:
        text.setdefault("num_experts", text["num_local_experts"])
    return {
        **(wrapper.defaults if kind in wrapper.text_types else {}),
        **text,
        "architectures": [own],
    }


def _inside(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of the language model, which a flat config has beside the tower's."""
    inside = config.get("text_config")
    if isinstance(inside, dict):
        return dict(inside)
    return {key: value for key, value in config.items() if key not in _OUTSIDE}


@cache
def _table() -> Mapping[str, Wrapper]:
    return {
        name: _entry(name, entry) for name, entry in read_table(__name__, "wrappers.json").items()
    }


def _entry(name: str, entry: Mapping[str, Any]) -> Wrapper:
    """Return a wrapper with tuples instead of lists."""
    said: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()
    }
    return Wrapper(architecture=name, **said)
