"""How much of a GGUF file the tokenizer takes up: its tokens, merges, scores and chat template."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ftc.compiler.resolve.tokenizer_files import SENTENCEPIECE_FILE, TOKENIZER_FILE

if TYPE_CHECKING:  # slow to import, and always loaded where this is called
    from tokenizers import Tokenizer

# gguf.md of ggml: a string in an array has its length before it, a type and a score 4 bytes each.
_LENGTH_BYTES: Final = 8
_TYPE_BYTES: Final = 4
_SCORE_BYTES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """What is read of `tokenizer.json`; newer files keep the two sides of a merge apart."""

    type: str | None = None
    byte_fallback: bool | None = None
    merges: tuple[str | tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    model: _Model


def count_gguf_bytes(folder: Path, tokenizer: "Tokenizer", template: str | None) -> int | None:
    """Return the bytes of the arrays that llama.cpp's converter writes of this tokenizer.

    A tokenizer of the sentencepiece kind has scores, one of the GPT-2 kind merges. None for a file
    of a layout that this does not know.
    """
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    text = _TYPE_BYTES * len(vocabulary) + _strings_bytes(vocabulary)
    text += len((template or "").encode())
    try:
        model = msgspec.json.decode((folder / TOKENIZER_FILE).read_bytes(), type=_File).model
    except msgspec.MsgspecError:  # a file of another layout, which `tokenizers` has read
        return None
    scored = model.byte_fallback or model.type == "Unigram"
    if scored or (folder / SENTENCEPIECE_FILE).is_file():
        return text + _SCORE_BYTES * len(vocabulary)
    merges = model.merges or ()
    return text + _strings_bytes(m if isinstance(m, str) else " ".join(m) for m in merges)


def _strings_bytes(strings: Iterable[str]) -> int:
    known = list(strings)
    return _LENGTH_BYTES * len(known) + len("".join(known).encode("utf-8", "surrogatepass"))
