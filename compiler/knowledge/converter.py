"""What llama.cpp's converter, at the pinned version, does to a tokenizer."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, cast

__all__ = ["Path", "check_text", "pre_tokenizer_name", "vocabulary_path"]

#: `scores`: the pieces of `tokenizer.model` with their scores. `equal`: the pieces of
#: `tokenizer.json` under one score. `bpe`: merges, and a pre-tokenizer told by its hash. `stop`: an
#: error for want of `tokenizer.model`. `other`: a way of this class's own.
Path = Literal["scores", "equal", "bpe", "stop", "other"]

_FOLDER: Final = "ftc.compiler.knowledge"


def check_text() -> str:
    """Return the text whose tokens tell the converter which pre-tokenizer made them."""
    return cast("str", _pre_tokenizers()["check_text"])


def pre_tokenizer_name(sha256: str) -> str | None:
    """Return the name of a pre-tokenizer by the SHA-256 of its tokens of the check text."""
    return cast("Mapping[str, str]", _pre_tokenizers()["names"]).get(sha256)


def vocabulary_path(
    architecture: str, *, sentencepiece: bool, byte_fallback: bool, tokenizer_class: str | None
) -> Path:
    """Return how the converter reads a model's tokenizer.

    `sentencepiece`: there is a `tokenizer.model`; `byte_fallback`: `tokenizer.json` is a BPE with
    byte fallback; `tokenizer_class` is what `tokenizer_config.json` says.
    """
    paths = _vocabularies().get(architecture)
    if paths is None:
        return "other"
    with_model, without, byte_level, gpt2 = paths
    if tokenizer_class == "GPT2Tokenizer" and gpt2 != byte_level:  # what Phi-4's are told by
        return gpt2
    if sentencepiece:
        return with_model
    return without if byte_fallback else byte_level


@cache
def _pre_tokenizers() -> Mapping[str, Any]:
    return _read("converter_pre_tokenizers.json")


@cache
def _vocabularies() -> Mapping[str, tuple[Path, Path, Path, Path]]:
    table = _read("converter_vocabularies.json")
    return {name: kind["paths"] for kind in table["kinds"] for name in kind["architectures"]}


def _read(name: str) -> Mapping[str, Any]:
    text = (files(_FOLDER) / name).read_text(encoding="utf-8")
    return cast("Mapping[str, Any]", json.loads(text))
