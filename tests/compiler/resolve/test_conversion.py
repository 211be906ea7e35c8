"""What the converter will find in a tokenizer is known from its files."""

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from ftc.compiler.knowledge.exports.converter import check_text, pre_tokenizer_name
from ftc.compiler.resolve.facts import ConversionFacts
from ftc.compiler.resolve.model.tokenizer_files import load_tokenizer, read_tokenizer_config
from ftc.compiler.resolve.tokenizer.conversion import read_conversion
from tests.real_tokenizers import real_tokenizer
from tests.tiny_tokenizers import byte_level_tokenizer, sentencepiece_tokenizer

TEMPLATE = "{% for m in messages %}<|turn|>{{ m.content }}{{ eos_token }}{% endfor %}"


def read(
    folder: Path, *, model_type: str = "llama", template: str | None = None
) -> ConversionFacts:
    """Read the facts of a folder."""
    loaded = load_tokenizer(folder, template=template)
    return read_conversion(folder, loaded, read_tokenizer_config(folder), model_type=model_type)


def edit(folder: Path, **changes: Any) -> None:
    """Change keys of tokenizer_config.json; None takes one away."""
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_bytes()) | changes
    path.write_text(json.dumps({k: v for k, v in config.items() if v is not None}))


@pytest.mark.parametrize(
    ("name", "model_type", "expected"),
    [
        ("gpt-2", "gpt2", "gpt-2"),
        ("starcoder", "starcoder2", "starcoder"),
        pytest.param("llama-3", "llama", "llama-bpe", marks=pytest.mark.prove),
        pytest.param("qwen2", "qwen2", "qwen2", marks=pytest.mark.prove),
        pytest.param("llama-2", "llama", None, marks=pytest.mark.prove),
        pytest.param("phi-3", "phi3", None, marks=pytest.mark.prove),
    ],
)
def test_the_hash_is_the_converter_s(
    tmp_path: Path, sdist: Path, name: str, model_type: str, expected: str | None
) -> None:
    """It is what AutoTokenizer's ids give, and its name is the vocabulary's."""
    folder = real_tokenizer(name, tmp_path / name, sdist=sdist)
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))

    facts = read(folder, model_type=model_type)

    assert pre_tokenizer_name(facts.pre_tokenizer_sha256) == expected
    assert facts.pre_tokenizer_sha256 == converter_hash(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"add_bos_token": True, "add_eos_token": True},
        {"tokenizer_class": "Qwen2Tokenizer"},
        {"tokenizer_class": "PreTrainedTokenizerFast"},
        {"tokenizer_class": None},
    ],
)
def test_the_hash_depends_on_the_class_alone(
    tmp_path: Path, sdist: Path, changes: dict[str, Any]
) -> None:
    """A class that splits otherwise changes it; flags that add tokens do not."""
    folder = real_tokenizer("gpt-2", tmp_path / "gpt-2", sdist=sdist)
    (folder / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    edit(folder, **changes)

    sha256 = read(folder, model_type="gpt2").pre_tokenizer_sha256

    assert sha256 == converter_hash(folder)
    split_otherwise = changes.get("tokenizer_class") == "Qwen2Tokenizer"
    assert (pre_tokenizer_name(sha256) is None) == split_otherwise


def converter_hash(folder: Path) -> str:
    """Return what `get_vocab_base_pre` computes, with transformers."""
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ids = transformers.AutoTokenizer.from_pretrained(folder).encode(check_text())
    return hashlib.sha256(str(ids).encode()).hexdigest()


def test_ids_of_tokens_and_markers(tmp_path: Path) -> None:
    """The highest of all tokens is told apart from the highest that rows will hold."""
    folder = byte_level_tokenizer(tmp_path, added=("<|turn|>", "<|never|>"))

    plain, chat = read(folder), read(folder, template=TEMPLATE)

    assert (plain.highest_token, plain.highest_id) == ("<|never|>", 261)
    assert (plain.marker, plain.marker_id) == ("<|end|>", 259)
    assert (chat.marker, chat.marker_id) == ("<|turn|>", 260)
    assert not chat.byte_fallback
    assert (chat.pieces, chat.unlisted) == (None, ())
    assert pre_tokenizer_name(chat.pre_tokenizer_sha256) is None


def test_ids_with_gaps(tmp_path: Path) -> None:
    """A vocabulary may leave ids out; the highest is found all the same."""
    folder = byte_level_tokenizer(tmp_path)
    path = folder / "tokenizer.json"
    saved = json.loads(path.read_bytes())
    saved["model"]["vocab"]["\u0120the"] = 700
    path.write_text(json.dumps(saved))

    assert read(folder).highest_id == 700


def test_markers_that_a_sentencepiece_model_lacks(tmp_path: Path) -> None:
    """A marker is listed by the piece of its id, by `added_tokens.json`, or by the config."""
    added = ("<|turn|>", "<|never|>")
    listed = read(sentencepiece_tokenizer(tmp_path / "listed", added=added), template=TEMPLATE)
    folder = sentencepiece_tokenizer(tmp_path / "unlisted", added=added, listed=False)
    unlisted = read(folder, template=TEMPLATE)

    assert listed.byte_fallback
    assert listed.pieces == unlisted.pieces == unlisted.highest_id - 1
    assert (listed.unlisted, unlisted.unlisted) == ((), ("<|turn|>",))
    ids = {"<|turn|>": unlisted.marker_id}
    (folder / "added_tokens.json").write_text(json.dumps(ids))
    assert read(folder, template=TEMPLATE).unlisted == ()
    (folder / "tokenizer.model").unlink()
    without = read(folder, template=TEMPLATE)
    assert (without.pieces, without.unlisted) == (None, ())


def test_a_padding_token_that_the_class_adds(tmp_path: Path) -> None:
    """Batches hold it, so the embedding needs its row; no text does, so a GGUF may lack it."""
    folder = sentencepiece_tokenizer(tmp_path)
    own = read(folder)
    edit(folder, tokenizer_class="GemmaTokenizer")
    found = read(folder)
    assert (found.marker, found.marker_id) == ("<pad>", own.highest_id + 1)
    assert found.unlisted == ()


@pytest.mark.parametrize(
    "data", [b"", b"version https://git-lfs.github.com/spec/v1\n", b"\x0a\xff\xff\xff\xff\xff"]
)
def test_a_model_that_is_none(tmp_path: Path, data: bytes) -> None:
    """A pointer, a part of a file or another format has no pieces."""
    folder = sentencepiece_tokenizer(tmp_path)
    whole = (folder / "tokenizer.model").read_bytes()
    (folder / "tokenizer.model").write_bytes(data)
    assert read(folder).pieces is None
    (folder / "tokenizer.model").write_bytes(whole[: len(whole) // 2])
    assert read(folder).pieces is None


BEGINS = "{{ bos_token }}" + TEMPLATE


@pytest.mark.parametrize(
    ("changes", "template", "expected"),
    [
        ({"legacy": None}, BEGINS, "<s>"),
        ({"legacy": False}, BEGINS, "<s>"),
        ({"legacy": True}, BEGINS, None),
        ({"legacy": False}, TEMPLATE, "</s>"),
        ({"legacy": False}, "{{ messages[0].content }}", None),
        ({"legacy": False}, "{{ bos_token }} {{ messages[0].content }}", "<s>"),
        ({"legacy": False, "add_prefix_space": False}, BEGINS, None),
        ({"legacy": False, "tokenizer_class": "PreTrainedTokenizerFast"}, BEGINS, None),
    ],
)
def test_a_space_that_training_does_not_read(
    tmp_path: Path, changes: dict[str, Any], template: str, expected: str | None
) -> None:
    """The marker before it is found, and none where the tokenizer's class or config adds it."""
    folder = sentencepiece_tokenizer(tmp_path)
    edit(folder, **changes)
    assert read(folder, template=template).respaced == expected


def test_a_space_that_training_never_reads(tmp_path: Path) -> None:
    """A tokenizer without a space before texts, used as it is: llama.cpp adds one at the start."""
    folder = sentencepiece_tokenizer(tmp_path, prefix=False)
    edit(folder, tokenizer_class="PreTrainedTokenizerFast")
    assert read(folder, template=TEMPLATE).respaced == ""


@pytest.mark.parametrize(
    ("declared", "model", "expected"),
    [(None, True, True), (True, True, True), (True, False, True), (False, True, False),
     (None, False, False)],
)  # fmt: skip
def test_a_first_token_that_training_does_not_read(
    tmp_path: Path, declared: bool | None, model: bool, *, expected: bool
) -> None:
    """The converter believes the config, and else the kind of tokenizer."""
    folder = sentencepiece_tokenizer(tmp_path, model=model)
    edit(folder, add_bos_token=declared)
    assert read(folder).unwritten_bos == expected


def test_a_first_token_that_the_tokenizer_writes(tmp_path: Path) -> None:
    """A post-processor that puts it before each text is what the converter reads, too."""
    folder = sentencepiece_tokenizer(tmp_path)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    begin = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.post_processor = begin
    tokenizer.save(str(folder / "tokenizer.json"))
    assert not read(folder).unwritten_bos
