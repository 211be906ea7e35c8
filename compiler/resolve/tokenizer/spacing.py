"""Finds a text before which llama.cpp puts a space, and transformers does not.

A tokenizer of sentencepiece reads a text as if a space stood before it. llama.cpp does so at the
start and after every added token (`llama_vocab::impl::tokenize`, the case of SPM). transformers
does so at the start alone, unless the tokenizer is `legacy`.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ftc.compiler.knowledge.text.tokenizer_classes import LEGACY_CLASSES, uses_file
from ftc.compiler.resolve.model.tokenizer_files import TokenizerConfig

if TYPE_CHECKING:  # slow to import, and always loaded where this is called
    from tokenizers import Tokenizer
    from tokenizers.normalizers import Normalizer
    from tokenizers.pre_tokenizers import PreTokenizer

_SPACE: Final = "\u2581"  # what sentencepiece writes for a space


def find_respaced(
    tokenizer: "Tokenizer", config: TokenizerConfig, *, loaded_class: str, texts: Iterable[str]
) -> str | None:
    """Return the added token after which one of the texts is read differently; None if all agree.

    `loaded_class` is what transformers loads. None too if its steps are not known.
    """
    if config.prefix_space is False:
        return None
    for text in texts:
        with _as_llama_cpp(tokenizer):
            converted = tokenizer.encode(text, add_special_tokens=False)
        if loaded_class in LEGACY_CLASSES:
            with _as_legacy_class(tokenizer, legacy=bool(config.legacy)):
                trained = tokenizer.encode(text, add_special_tokens=False)
        elif uses_file(loaded_class):
            trained = tokenizer.encode(text, add_special_tokens=False)
        else:
            return None
        added = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
        parts = zip(_part(trained.tokens, added), _part(converted.tokens, added), strict=False)
        for (marker, own), (_, other) in parts:
            if other == _SPACE + own:
                return marker
    return None


def _part(tokens: Iterable[str], added: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each text between added tokens, after the added token before it."""
    marker, text = "", ""
    for token in tokens:
        if token not in added:
            text += token
            continue
        yield marker, text
        marker, text = token, ""
    yield marker, text


@contextmanager
def _as_llama_cpp(tokenizer: "Tokenizer") -> Iterator[None]:
    from tokenizers import normalizers  # noqa: PLC0415

    steps = [normalizers.Prepend(_SPACE), normalizers.Replace(" ", _SPACE)]
    with _read_by(tokenizer, normalizers.Sequence(steps), None):
        yield


@contextmanager
def _as_legacy_class(tokenizer: "Tokenizer", *, legacy: bool) -> Iterator[None]:
    from tokenizers import pre_tokenizers  # noqa: PLC0415

    scheme = "always" if legacy else "first"
    step = pre_tokenizers.Metaspace(replacement=_SPACE, prepend_scheme=scheme, split=False)
    with _read_by(tokenizer, None, step):
        yield


@contextmanager
def _read_by(
    tokenizer: "Tokenizer", normalizer: "Normalizer | None", pre_tokenizer: "PreTokenizer | None"
) -> Iterator[None]:
    """Use these steps for the length of the block."""
    own = tokenizer.normalizer, tokenizer.pre_tokenizer
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    try:
        yield
    finally:
        tokenizer.normalizer, tokenizer.pre_tokenizer = own
