"""Describes how the pinned version of llama.cpp's converter converts a tokenizer."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, cast

from ftc.compiler.knowledge.tables import read_table

__all__ = [
    "Converter",
    "Path",
    "check_text",
    "find_converter",
    "hides_rotation",
    "layer_pattern",
    "pre_tokenizer_name",
    "reads_published",
    "wanted_keys",
]

#: `scores`: the pieces of `tokenizer.model` with their scores. `equal`: the pieces of
#: `tokenizer.json` with equal scores. `bpe`: merges, and a pre-tokenizer identified by its hash.
#: `words`: word pieces, and such a pre-tokenizer. `stop`: an error, because `tokenizer.model` is
#: missing. `other`: specific to the class.
Path = Literal["scores", "equal", "bpe", "words", "stop", "other"]

_PUBLISHED: Final = frozenset(
    {"MiniMaxM3SparseForConditionalGeneration", "Step3p7ForConditionalGeneration"}
)


def check_text() -> str:
    """Return the text whose tokens identify the pre-tokenizer."""
    return cast("str", _pre_tokenizers()["check_text"])


def pre_tokenizer_name(sha256: str) -> str | None:
    """Return the name of a pre-tokenizer by the SHA-256 of its tokens of the check text."""
    return cast("Mapping[str, str]", _pre_tokenizers()["names"]).get(sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Converter:
    """The behaviour of the converter's class for an architecture.

    `paths` are for a sentencepiece tokenizer with `tokenizer.model`, for one without it, for a
    byte-level one, and for one whose class is `GPT2Tokenizer`. `reads_added`: when it reads
    `tokenizer.model`, it also reads tokens that only `tokenizer.json` has. `refuses_beyond`: it
    stops at ids that the embedding does not have. `drops_head`: it omits the output matrix, tied
    or not. `adds_space`: llama.cpp puts a space before a text of sentencepiece, and after each
    added token in it.
    """

    paths: tuple[Path, Path, Path, Path]
    reads_added: bool
    refuses_beyond: bool
    drops_head: bool
    adds_space: bool

    def path(self, *, sentencepiece: bool, byte_fallback: bool, name: str | None) -> Path:
        """Return how a model's tokenizer is read.

        `sentencepiece`: there is a `tokenizer.model`; `byte_fallback`: `tokenizer.json` is a BPE
        with byte fallback; `name` is the class in `tokenizer_config.json`.
        """
        with_model, without, byte_level, gpt2 = self.paths
        if name == "GPT2Tokenizer" and gpt2 != byte_level:  # how Phi-4 is recognised
            return gpt2
        if sentencepiece:
            return with_model
        return without if byte_fallback else byte_level


def find_converter(architecture: str) -> Converter | None:
    """Return the converter's class for an architecture; None if there is none."""
    return _converters().get(architecture)


def hides_rotation(architecture: str) -> bool:
    """Return whether the converter needs a `rotary_pct` that transformers drops when it reads.

    The converter reads config.json through transformers, so the key cannot be written there.
    `export.py` writes it, from `rope_parameters`, where the converter reads it directly.
    """
    return architecture == "GPTNeoXForCausalLM"


def layer_pattern(architecture: str) -> str | None:
    """Return the key with the kinds of layers for the converter, if transformers changes it.

    transformers converts it to a list with other names, of which the converter knows only some. It
    also adds `num_experts_per_tok`, from which the converter concludes that a dense model has
    experts. The converter has to read config.json directly, with the original key.
    """
    return "hybrid_override_pattern" if architecture == "NemotronHForCausalLM" else None


def reads_published(architecture: str) -> bool:
    """Return whether the converter needs keys that transformers changes while it reads config.json.

    For these classes, the merged folder has the base's config.json, and the converter has to read
    it directly: transformers renames `sparse_attention_config` and `num_attention_groups`.
    """
    return layer_pattern(architecture) is not None or architecture in _PUBLISHED


def expects_drafts(architecture: str) -> bool:
    """Return whether the converter requires draft layers by default."""
    return architecture.startswith(("Qwen3Next", "Qwen3_5"))


def wanted_keys(architecture: str) -> tuple[str, ...]:
    """Return the keys of config.json that the converter needs and transformers does not write.

    `export.py` copies them from the base model, if its config has them.
    """
    if hides_rotation(architecture):
        return ()
    key = _read("converter_keys.json")["wanted"].get(architecture)
    return () if key is None else (key,)


def _pre_tokenizers() -> Mapping[str, Any]:
    return _read("converter_pre_tokenizers.json")


@cache
def _converters() -> Mapping[str, Converter]:
    found: dict[str, Converter] = {}
    for kind in _read("converter_vocabularies.json")["kinds"]:
        flags = {name: value for name, value in kind.items() if name != "architectures"}
        converter = Converter(**flags | {"paths": tuple(kind["paths"])})
        found |= dict.fromkeys(kind["architectures"], converter)
    return found


@cache
def _read(name: str) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", read_table(__name__, name))
