"""Real tokenizers, rebuilt from the vocabularies inside the sources of llama-cpp-python.

`real_tokenizer(name, folder, sdist=...)` writes what such a model has on the Hub: `tokenizer.json`,
`tokenizer_config.json` with its class, special tokens and chat template, and `tokenizer.model` for
the sentencepiece ones. `tests/test_real_tokenizers.py` holds them to llama.cpp's own results.
"""

import json
import struct
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

CONTROL: Final = 3  # types of tokens in a GGUF
USER_DEFINED: Final = 4
_SPECIAL: Final = (CONTROL, USER_DEFINED)
_STRING: Final = 8  # types of values in a GGUF; the others are numbers
_ARRAY: Final = 9
_NUMBERS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q"}
_SPACE: Final = "\u2581"  # what sentencepiece writes for a space

_LLAMA3: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2: Final = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a GGUF does not say of a tokenizer; `vocabulary` names its file in the sources."""

    vocabulary: str
    tokenizer_class: str
    template: str | None
    bos: bool
    split: str | None = None
    digits: bool = False
    composed: bool = False


KINDS: Final[Mapping[str, Kind]] = {
    "llama-3": Kind(
        vocabulary="llama-bpe",
        tokenizer_class="PreTrainedTokenizerFast",
        template="meta-llama-Llama-3.1-8B-Instruct",
        bos=True,
        split=_LLAMA3,
    ),
    "qwen2": Kind(
        vocabulary="qwen2",
        tokenizer_class="Qwen2Tokenizer",
        template="Qwen-Qwen2.5-7B-Instruct",
        bos=False,
        split=_QWEN2,
        composed=True,
    ),
    "gpt-2": Kind(vocabulary="gpt-2", tokenizer_class="GPT2Tokenizer", template=None, bos=False),
    "starcoder": Kind(
        vocabulary="starcoder",
        tokenizer_class="GPT2Tokenizer",
        template=None,
        bos=False,
        digits=True,
    ),
    "llama-2": Kind(
        vocabulary="llama-spm", tokenizer_class="LlamaTokenizer", template=None, bos=True
    ),
    "phi-3": Kind(
        vocabulary="phi-3",
        tokenizer_class="LlamaTokenizer",
        template="microsoft-Phi-3.5-mini-instruct",
        bos=True,
    ),
}
#: The end of an answer where a chat template says another one than the vocabulary's file.
_ENDS: Final = {"llama-3": "<|eot_id|>", "qwen2": "<|im_end|>", "phi-3": "<|end|>"}
_SENTENCEPIECE: Final = ("llama-2", "phi-3")


def real_tokenizer(name: str, folder: Path, *, sdist: Path) -> Path:
    """Write the files of one of KINDS into `folder`, which is made, and return it."""
    kind = KINDS[name]
    vocabulary = read_vocabulary(kind.vocabulary, sdist)
    folder.mkdir(parents=True, exist_ok=True)
    scores = vocabulary.get("tokenizer.ggml.scores")
    if scores is None:
        tokenizer = _byte_level(kind, vocabulary)
    else:
        pieces = _pieces(vocabulary)
        tokenizer = _sentencepiece(vocabulary, pieces)
        (folder / "tokenizer.model").write_bytes(write_model(pieces))
    tokenizer.save(str(folder / "tokenizer.json"))
    special = _special(name, vocabulary)
    config = {"tokenizer_class": kind.tokenizer_class, "model_max_length": 8192, **special}
    if kind.template is not None:
        file = f"templates/{kind.template}.jinja"
        config["chat_template"] = read_members(sdist, file)[file].decode()
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    return folder


def read_vocabulary(name: str, sdist: Path) -> dict[str, Any]:
    """Return the metadata of one of the sources' `ggml-vocab-*.gguf`."""
    file = f"ggml-vocab-{name}.gguf"
    return dict(_metadata(read_members(sdist, file)[file]))


def write_model(pieces: list[tuple[str, float, int]]) -> bytes:
    """Return a `tokenizer.model`: pieces with their scores and types, as BPE with byte fallback."""
    schema: Any = import_module("sentencepiece.sentencepiece_model_pb2")
    model = schema.ModelProto()
    for piece, score, kind in pieces:
        model.pieces.add(piece=piece, score=score, type=kind)
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    trainer.model_type = trainer.BPE
    trainer.vocab_size = len(pieces)
    trainer.byte_fallback = True
    trainer.unk_id, trainer.bos_id, trainer.eos_id, trainer.pad_id = 0, 1, 2, -1
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = True
    normalizer.remove_extra_whitespaces = False
    data: bytes = model.SerializeToString()
    return data


def _pieces(vocabulary: Mapping[str, Any]) -> list[tuple[str, float, int]]:
    """Return the pieces of the `tokenizer.model` that a sentencepiece vocabulary came from.

    Tokens above the first 32,000 were added beside it; the first three have types of their own.
    """
    base = 32_000
    own = {0: ("<unk>", 0.0, 2), 1: ("<s>", 0.0, CONTROL), 2: ("</s>", 0.0, CONTROL)}
    tokens, scores, types = (
        vocabulary[f"tokenizer.ggml.{key}"][:base] for key in ("tokens", "scores", "token_type")
    )
    return [own.get(i, piece) for i, piece in enumerate(zip(tokens, scores, types, strict=True))]


def _sentencepiece(
    vocabulary: Mapping[str, Any], pieces: list[tuple[str, float, int]]
) -> Tokenizer:
    """Return the `tokenizer.json` of a sentencepiece BPE: a merge wherever two pieces make one."""
    ids = {piece: number for number, (piece, _, _) in enumerate(pieces)}
    merges = []
    for piece, score, kind in pieces:
        cuts = [(piece[:i], piece[i:]) for i in range(1, len(piece))] if kind == 1 else []
        known = [cut for cut in cuts if cut[0] in ids and cut[1] in ids]
        known.sort(key=lambda cut: (ids[cut[0]], ids[cut[1]]))
        merges += [(-score, cut) for cut in known]
    merges.sort(key=lambda merge: merge[0])
    model = models.BPE(
        vocab=ids,
        merges=[cut for _, cut in merges],
        unk_token="<unk>",
        fuse_unk=True,
        byte_fallback=True,
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend(_SPACE), normalizers.Replace(" ", _SPACE)]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace(_SPACE, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokens = [
        AddedToken(piece, special=True, normalized=False)
        for piece in ("<unk>", "<s>", "</s>", *_named(vocabulary)[3:])
    ]
    tokenizer.add_tokens(tokens)
    tokenizer.post_processor = _begin("<s>", 1)
    return tokenizer


def _byte_level(kind: Kind, vocabulary: Mapping[str, Any]) -> Tokenizer:
    """Return the `tokenizer.json` of a byte-level BPE, its special tokens beside the vocabulary."""
    tokens = vocabulary["tokenizer.ggml.tokens"]
    special = _named(vocabulary)
    inside = set() if tokens.index(special[0]) else set(special)  # StarCoder's stand in front
    ordinary = (
        (token, number)
        for number, token in enumerate(tokens)
        if token in inside or vocabulary["tokenizer.ggml.token_type"][number] not in _SPECIAL
    )
    merges = [tuple(merge.split(" ")) for merge in vocabulary["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(
        models.BPE(
            vocab=dict(ordinary),
            merges=merges,
            ignore_merges=kind.vocabulary == "llama-bpe",
        )
    )
    if kind.composed:
        tokenizer.normalizer = normalizers.NFC()
    own_split = kind.split is not None
    steps: list[Any] = [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not own_split)]
    if kind.split is not None:
        steps.insert(0, pre_tokenizers.Split(Regex(kind.split), behavior="isolated"))
    if kind.digits:
        steps.insert(0, pre_tokenizers.Digits(individual_digits=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps) if len(steps) > 1 else steps[0]
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    if kind.bos:
        number = vocabulary["tokenizer.ggml.bos_token_id"]
        tokenizer.post_processor = _begin(tokens[number], number)
    return tokenizer


def _begin(token: str, number: int) -> processors.TemplateProcessing:
    """Return the step that begins every text with this token."""
    return processors.TemplateProcessing(
        single=f"{token} $A", pair=f"{token} $A {token}:1 $B:1", special_tokens=[(token, number)]
    )


def _named(vocabulary: Mapping[str, Any]) -> list[str]:
    """Return the special tokens in the order of their ids, without rows that only fill up."""
    types = vocabulary["tokenizer.ggml.token_type"]
    pairs = zip(vocabulary["tokenizer.ggml.tokens"], types, strict=True)
    return [
        token
        for number, (token, kind) in enumerate(pairs)
        if (kind in _SPECIAL or (kind == 2 and not number)) and not token.startswith("[PAD")
    ]


def _special(name: str, vocabulary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens by role, as `tokenizer_config.json` names them."""
    tokens = vocabulary["tokenizer.ggml.tokens"]
    begin = tokens[vocabulary["tokenizer.ggml.bos_token_id"]]
    end = tokens[vocabulary["tokenizer.ggml.eos_token_id"]]
    special: dict[str, Any] = {
        "bos_token": None if name == "qwen2" else begin,
        "eos_token": _ENDS.get(name, end),
    }
    if "tokenizer.ggml.scores" in vocabulary:
        special |= {"unk_token": "<unk>", "add_bos_token": True, "add_eos_token": False}
    if name == "qwen2":
        special["pad_token"] = end
    return special


def read_members(sdist: Path, *endings: str) -> dict[str, bytes]:
    """Return files under `vendor/llama.cpp/models` by how their names end."""
    found: dict[str, bytes] = {}
    with tarfile.open(sdist) as archive:
        for member in archive:
            ending = member.name.partition("/vendor/llama.cpp/models/")[2]
            if ending in endings and (stream := archive.extractfile(member)) is not None:
                found[ending] = stream.read()
                if len(found) == len(endings):
                    return found
    raise FileNotFoundError(f"{sdist} lacks {sorted(set(endings) - set(found))}")


def _metadata(data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the key-value pairs of a GGUF of version 3 (little endian; ggml/docs/gguf.md)."""
    magic, version, _, count = struct.unpack_from("<4sIQQ", data)
    assert (magic, version) == (b"GGUF", 3)
    at = 24
    for _ in range(count):
        key, at = _read(data, at, 8)
        (kind,) = struct.unpack_from("<I", data, at)
        value, at = _read(data, at + 4, kind)
        yield key, value


def _read(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """Return the value of this type that starts at a byte, and where the next one starts."""
    if kind == _STRING:
        (length,) = struct.unpack_from("<Q", data, at)
        start = at + 8
        return data[start : start + length].decode(), start + length
    if kind == _ARRAY:
        inner, count = struct.unpack_from("<IQ", data, at)
        at += 12
        if inner in _NUMBERS:
            layout = f"<{count}{_NUMBERS[inner]}"
            return list(struct.unpack_from(layout, data, at)), at + struct.calcsize(layout)
        values = []
        for _ in range(count):
            value, at = _read(data, at, inner)
            values.append(value)
        return values, at
    layout = f"<{_NUMBERS[kind]}"
    return struct.unpack_from(layout, data, at)[0], at + struct.calcsize(layout)
