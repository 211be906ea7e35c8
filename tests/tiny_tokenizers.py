"""Tokenizers of a few hundred tokens, one of each kind that llama.cpp's converter tells apart."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tests.real_tokenizers import write_model

_SPACE: Final = "\u2581"
_WORDS: Final = ("the", "order", "parcel", "refund", "is", "late", "on", "Monday")


def sentencepiece_tokenizer(
    folder: Path,
    *,
    model: bool = True,
    added: Sequence[str] = (),
    listed: bool = True,
    prefix: bool = True,
    legacy: bool = True,
) -> Path:
    """Write a BPE with byte fallback; `added` tokens are in the small files too where `listed`.

    With a `prefix` a text is read as if a space stood before it, which Gemma's are not. If it is
    `legacy`, so is the text after each added token, as in llama.cpp.
    """
    pieces = _pieces()
    ids = {piece: number for number, (piece, _, _) in enumerate(pieces)}
    merges = []
    for piece, score, _ in pieces[3 + 256 :]:
        cuts = [(piece[:i], piece[i:]) for i in range(1, len(piece))]
        merges += [(-score, cut) for cut in cuts if cut[0] in ids and cut[1] in ids]
    merges.sort()
    tokenizer = Tokenizer(
        models.BPE(
            vocab=ids,
            merges=[cut for _, cut in merges],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    steps: list[Any] = [normalizers.Prepend(_SPACE)] if prefix else []
    steps.append(normalizers.Replace(" ", _SPACE))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    special = ("<unk>", "<s>", "</s>", *added)
    tokenizer.add_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    config: dict[str, object] = {
        "tokenizer_class": "LlamaTokenizer" if prefix else "GemmaTokenizer",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "legacy": legacy,
    }
    if listed:
        config["added_tokens_decoder"] = {
            str(tokenizer.token_to_id(text)): {"content": text, "special": True} for text in special
        }
    _save(tokenizer, folder, config)
    if model:
        (folder / "tokenizer.model").write_bytes(write_model(pieces))
    return folder


def byte_level_tokenizer(
    folder: Path, *, tokenizer_class: str = "PreTrainedTokenizerFast", added: Sequence[str] = ()
) -> Path:
    """Write a byte-level BPE that no converter has ever seen."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["\u0120t", "\u0120th", "\u0120the"]
    vocab = {token: number for number, token in enumerate([*letters, *words])}
    merges = [("\u0120", "t"), ("\u0120t", "h"), ("\u0120th", "e")]
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(text, special=True) for text in ("<|end|>", *added)])
    _save(tokenizer, folder, {"tokenizer_class": tokenizer_class, "eos_token": "<|end|>"})
    return folder


def _save(tokenizer: Tokenizer, folder: Path, config: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def _pieces() -> list[tuple[str, float, int]]:
    """Return special pieces, bytes, words by the order of their merges, and letters."""
    special = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    of_bytes = [(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)]
    words = []
    for word in _WORDS:
        text = _SPACE + word
        words += [text[:end] for end in range(2, len(text) + 1) if text[:end] not in words]
    letters = sorted({letter for word in words for letter in word})
    scored = [(piece, -float(rank), 1) for rank, piece in enumerate([*words, *letters])]
    return [*special, *of_bytes, *scored]
