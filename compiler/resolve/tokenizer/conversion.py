"""Predicts how llama.cpp's converter reads a tokenizer, and its size in a GGUF.

It also says how transformers loads a tokenizer: its class replaces steps of `tokenizer.json`.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ftc.compiler.knowledge.exports.converter import check_text
from ftc.compiler.knowledge.text.tokenizer_classes import find_class_steps
from ftc.compiler.resolve.chat_template.rendering import ChatTemplateError
from ftc.compiler.resolve.facts import ConversionFacts
from ftc.compiler.resolve.model.tokenizer_files import (
    SENTENCEPIECE_FILE,
    TOKENIZER_FILE,
    LoadedTokenizer,
    TokenizerConfig,
    find_class,
    read_added_tokens,
)
from ftc.compiler.resolve.tokenizer.spacing import find_respaced

if TYPE_CHECKING:  # slow to import, and always loaded where this is called
    from tokenizers import Tokenizer

_STEPS: Final = ("normalizer", "pre_tokenizer", "decoder")
_ROLES: Final = ("bos_token", "eos_token", "pad_token")  # what batches and answers are made with
_ASKED: Final = ({"role": "user", "content": "a"},)
_ANSWERED: Final = (*_ASKED, {"role": "assistant", "content": "a"})
_INSTRUCTED: Final = ({"role": "system", "content": "a"}, *_ANSWERED)
_LENGTH_DELIMITED: Final = 2  # protobuf's wire type of texts and messages
_PIECE: Final = 0x0A  # field 1 of ModelProto, and of a piece its text (sentencepiece_model.proto)
# gguf.md of ggml: a string in an array has its length before it, a type and a score 4 bytes each.
_LENGTH_BYTES: Final = 8
_TYPE_BYTES: Final = 4
_SCORE_BYTES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """What is read of `tokenizer.json`; in newer files a merge is a pair."""

    type: str | None = None
    byte_fallback: bool | None = None
    merges: tuple[str | tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    model: _Model


def read_conversion(
    folder: Path, loaded: LoadedTokenizer, config: TokenizerConfig, *, model_type: str
) -> ConversionFacts:
    """Return what decides whether, and how, the tokenizer in this folder is converted."""
    tokenizer = loaded.tokenizer
    markers = _markers(loaded)
    inner = None if "pad_token" in config.special else loaded.special.get("pad_token")
    highest = _highest_id(tokenizer)
    marker = max(markers, key=markers.__getitem__, default=None)
    byte_fallback = bool(getattr(tokenizer.model, "byte_fallback", False))
    pieces = _read_pieces(folder / SENTENCEPIECE_FILE)
    unlisted: tuple[str, ...] = ()
    if pieces is not None:
        listed = set(read_added_tokens(folder).values())
        listed |= {int(number) for number in config.added if number.isdigit()}
        unlisted = tuple(
            text
            for text, number in markers.items()
            if number not in listed
            and text != inner  # the class adds it by itself, and no text holds it
            and (number >= len(pieces) or pieces[number] != text.encode("utf-8", "surrogatepass"))
        )
    respaced = None
    if byte_fallback:
        name = find_class(tokenizer, model_type=model_type, tokenizer_class=config.tokenizer_class)
        texts = _renderings(loaded)
        respaced = find_respaced(tokenizer, config, loaded_class=name, texts=texts)
    return ConversionFacts(
        tokenizer_class=config.tokenizer_class,
        byte_fallback=byte_fallback and type(tokenizer.decoder).__name__ == "Sequence",
        pre_tokenizer_sha256=_hash_check_text(tokenizer, config, model_type),
        highest_id=highest,
        highest_token=tokenizer.id_to_token(highest) or "",
        marker=marker,
        marker_id=None if marker is None else markers[marker],
        pieces=None if pieces is None else len(pieces),
        unlisted=unlisted,
        respaced=respaced,
        unwritten_bos=loaded.misleads_converter(
            config.add_bos, sentencepiece=(folder / SENTENCEPIECE_FILE).is_file()
        ),
    )


def _markers(loaded: LoadedTokenizer) -> dict[str, int]:
    """Return the added tokens that batches will contain: special ones, and the template's."""
    tokenizer = loaded.tokenizer
    added = tokenizer.get_added_tokens_decoder()
    texts = [text for role, text in loaded.special.items() if role in _ROLES]
    ids = {number for text in texts if (number := tokenizer.token_to_id(text)) is not None}
    for text in _renderings(loaded):
        ids |= set(tokenizer.encode(text, add_special_tokens=False).ids)
    return {added[number].content: number for number in sorted(ids & set(added))}


def _highest_id(tokenizer: "Tokenizer") -> int:
    """Return the highest id; the whole vocabulary is listed only where its ids have gaps."""
    added = tokenizer.get_added_tokens_decoder()
    size = tokenizer.get_vocab_size(with_added_tokens=False)
    gapless = tokenizer.id_to_token(size - 1) is not None
    if gapless and (tokenizer.id_to_token(size) is None or size in added):
        return max(size - 1, *added, -1)
    return max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)


def _renderings(loaded: LoadedTokenizer) -> Iterator[str]:
    if loaded.template is None:
        return
    for messages in (_ANSWERED, _INSTRUCTED):
        try:
            yield loaded.template.render(messages)
            yield loaded.template.render(messages[:-1], add_generation_prompt=True)
        except ChatTemplateError:  # told by the probes of the template
            continue


def _hash_check_text(tokenizer: "Tokenizer", config: TokenizerConfig, model_type: str) -> str:
    """Return the converter's hash: SHA-256 of the list of ids, as transformers encodes the text.

    transformers replaces some steps by the class's. It keeps the post-processor, whatever
    `add_bos_token` says, as long as there is a `tokenizer.json`.
    """
    name = find_class(tokenizer, model_type=model_type, tokenizer_class=config.tokenizer_class)
    with loaded_as(tokenizer, name):
        ids = list(tokenizer.encode(check_text()).ids)
    return hashlib.sha256(str(ids).encode()).hexdigest()


def _read_pieces(path: Path) -> list[bytes] | None:
    """Return the texts of the pieces in a `tokenizer.model`; None if the file is not one."""
    if not path.is_file():
        return None
    data = path.read_bytes()
    pieces, at = [], 0
    try:
        while at < len(data):
            tag, start = data[at], at + 1
            length, start = _read_varint(data, start)
            at = start + length
            if at > len(data) or tag & 7 != _LENGTH_DELIMITED:
                return None
            if tag == _PIECE:
                size, text = _read_varint(data, start + 1)
                if data[start] != _PIECE or text + size > at:
                    return None
                pieces.append(data[text : text + size])
    except IndexError:
        return None
    return pieces or None


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that starts at a byte, and where it ends (protobuf's encoding)."""
    number = data[at] & 0x7F
    shift = 7
    while data[at] & 0x80:
        at += 1
        number |= (data[at] & 0x7F) << shift
        shift += 7
    return number, at + 1


def count_gguf_bytes(folder: Path, tokenizer: "Tokenizer", template: str | None) -> int | None:
    """Return the bytes of the arrays that llama.cpp's converter writes of this tokenizer.

    A tokenizer of the sentencepiece kind has scores, one of the GPT-2 kind merges. None for a file
    of unknown layout.
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


@contextmanager
def loaded_as(tokenizer: "Tokenizer", name: str) -> Iterator[bool]:
    """Use the steps of a class for the length of the block; yield whether the class has its own."""
    from tokenizers import Tokenizer  # noqa: PLC0415

    steps = find_class_steps(name)
    if steps is None:
        yield False
        return
    empty = {"version": "1.0", "model": {"type": "BPE", "vocab": {}, "merges": []}}
    given = {key: steps[key] for key in _STEPS}
    other = Tokenizer.from_str(json.dumps(empty | given))
    own = {key: getattr(tokenizer, key) for key in _STEPS}
    options = _set_options(tokenizer, steps["model"])
    for key in _STEPS:
        setattr(tokenizer, key, getattr(other, key))
    try:
        yield True
    finally:
        for key, step in own.items():
            setattr(tokenizer, key, step)
        _set_options(tokenizer, options)


def _set_options(tokenizer: "Tokenizer", options: dict[str, Any]) -> dict[str, Any]:
    """Set options of a BPE and return their old values; other models have no such options."""
    model = tokenizer.model
    if type(model).__name__ != "BPE":
        return {}
    before = {name: getattr(model, name) for name in options}
    for name, value in options.items():
        setattr(model, name, value)
    return before
