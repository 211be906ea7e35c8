"""The miniature of a multimodal wrapper: a miniature language model and a tiny vision tower."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ftc.compiler.knowledge.multimodal.wrappers import Wrapper, text_config

__all__ = ["shrink_wrapper"]

_LAYERS: Final = 2
_HEADS: Final = 2
_INNER: Final = 256
_DEPTH: Final = re.compile(r"depth|(num_|n_)?(encoder_|hidden_)?layers?")
_HEAD_COUNT: Final = re.compile(r".*num_(attention_|key_value_)?heads|encoder_attention_heads")
_WIDTH: Final = re.compile(r"hidden_size|embed_dim|d_model")
_FEED: Final = re.compile(r".*intermediate_size|.*ffn_dim")
_INPUT: Final = re.compile(r".*in(put)?_(dim|size)")
_NUMBERED: Final = re.compile(r".*(indexes|indices|idxs)")
#: Keys with the layers of a tower whose outputs are concatenated.
_READ: Final = re.compile(r".*feature_layers?")
_OWN_CLASS: Final = ("architectures",)

Shrink = Callable[[Mapping[str, Any]], dict[str, Any] | None]


def shrink_wrapper(
    config: Mapping[str, Any], wrapper: Wrapper, shrink: Shrink
) -> dict[str, Any] | None:
    """Return the config of the miniature; `shrink` makes that of the language model.

    None if the language model is none that ftc knows. The tower keeps its kind and the width of a
    head, has two layers, and still ends in the width of the language model.
    """
    text = text_config(config, wrapper)
    few = None if text is None else shrink(text)
    if text is None or few is None:
        return None
    inside = {key: value for key, value in few.items() if key not in _OWN_CLASS}
    named = config.get("text_config")
    if isinstance(named, Mapping):  # by which llama.cpp's converter knows the language model
        inside |= {key: named[key] for key in _OWN_CLASS if key in named}
    small = dict(config)
    small.pop("quantization_config", None)
    wide = text.get("hidden_size")
    for key, value in config.items():
        if key == "text_config":
            small[key] = inside
        elif key.endswith("_config") and isinstance(value, Mapping):
            small[key] = _shrink_tower(value, wide, inside.get("hidden_size"))
        elif key in inside and value == text.get(key) and key not in _OWN_CLASS:
            small[key] = inside[key]
    return small if "text_config" in config else {**inside, **small}


def _shrink_tower(tower: Mapping[str, Any], wide: object, narrow: object) -> dict[str, Any]:
    """Return a tower with two layers of two heads, which ends in the text's new width."""
    small = dict(tower)
    heads = next((v for k, v in tower.items() if _HEAD_COUNT.fullmatch(k) and v), None)
    depth = next((v for k, v in tower.items() if _DEPTH.fullmatch(k) and v), None)
    for key, value in tower.items():
        if isinstance(value, list) and _NUMBERED.fullmatch(key):
            small[key] = [_LAYERS - 1]
        elif isinstance(value, list) and _READ.fullmatch(key):
            small[key] = [_LAYERS - 1 - place % _LAYERS for place in range(len(value))]
        elif isinstance(value, list) and len(value) == depth and depth > _LAYERS:
            small[key] = value[-_LAYERS:]
        elif isinstance(value, Mapping) and value and all(str(n).isdigit() for n in value):
            small[key] = {n: each for n, each in value.items() if int(n) < _LAYERS}
        elif isinstance(value, Mapping) and key.endswith("_config"):  # a tower inside a tower
            small[key] = _shrink_tower(value, wide, narrow)
        if type(value) is not int:
            continue
        if _DEPTH.fullmatch(key):
            small[key] = min(value, _LAYERS)
        elif _HEAD_COUNT.fullmatch(key):
            small[key] = min(value, _HEADS)
        elif value == wide and ("hidden" in key or "dim" in key) and not _is_own(key, tower):
            small[key] = narrow
        elif _WIDTH.fullmatch(key) and type(heads) is int and value % heads == 0:
            small[key] = value // heads * min(heads, _HEADS)
        elif _FEED.fullmatch(key):
            small[key] = min(value, _INNER)
    own = tower.get("hidden_size")
    entered = [key for key, value in tower.items() if value == own and _INPUT.fullmatch(key)]
    return small | {key: small["hidden_size"] for key in entered if own is not None}


def _is_own(key: str, tower: Mapping[str, Any]) -> bool:
    """Return whether a key is the tower's own width, and not the one in which it ends."""
    return key in ("embed_dim", "d_model") or (key == "hidden_size" and "embed_dim" not in tower)
