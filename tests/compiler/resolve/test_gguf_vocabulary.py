"""What a tokenizer takes up in a GGUF, against files that the library `gguf` writes of it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram

from ftc.compiler.resolve.tokenizer.conversion import count_gguf_bytes

WORDS = ("a", "b", "ab", "ñ", "abñ", "<|end|>")
MERGES = (("a", "b"), ("ab", "ñ"))
TEMPLATE = "{% for m in messages %}{{ m['content'] }} ¶{% endfor %}"


def make(folder: Path, *, byte_fallback: bool = False) -> Tokenizer:
    """Write a BPE of six tokens and two merges, and read it back."""
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(BPE(vocabulary, list(MERGES), byte_fallback=byte_fallback))
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


def written(folder: Path, *, scores: bool, merges: Sequence[str], template: str) -> int:
    """Return how much larger these arrays make a file than one that holds but one of each."""
    gguf = pytest.importorskip("gguf")

    def size(words: Sequence[str], pairs: Sequence[str], text: str) -> int:
        writer = gguf.GGUFWriter(folder / "vocabulary.gguf", "llama")
        writer.add_token_list(words)
        writer.add_token_types([1] * len(words))
        writer.add_chat_template(text)
        if scores:
            writer.add_token_scores([0.0] * len(words))
        if pairs:
            writer.add_token_merges(pairs)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return (folder / "vocabulary.gguf").stat().st_size

    one = size(WORDS[:1], merges[:1], "x")
    return size(WORDS, merges, template) - one


def test_a_tokenizer_of_merges(tmp_path: Path) -> None:
    """Texts in UTF-8 with their lengths, types, merges and the template, to the byte."""
    mine = count_gguf_bytes(tmp_path, make(tmp_path), TEMPLATE)
    real = written(tmp_path, scores=False, merges=["a b", "ab ñ"], template=TEMPLATE)
    assert mine == real + (8 + 1 + 4) + (8 + 3) + 1  # the one of each


@pytest.mark.parametrize("sign", ["byte_fallback", "tokenizer.model"])
def test_a_tokenizer_of_scores(tmp_path: Path, sign: str) -> None:
    """A sentencepiece tokenizer has scores and no merges, however it is known."""
    tokenizer = make(tmp_path, byte_fallback=sign == "byte_fallback")
    if sign == "tokenizer.model":
        (tmp_path / sign).write_bytes(b"pieces")
    mine = count_gguf_bytes(tmp_path, tokenizer, TEMPLATE)
    real = written(tmp_path, scores=True, merges=[], template=TEMPLATE)
    assert mine == real + (8 + 1 + 4 + 4) + 1


def test_older_and_other_files(tmp_path: Path) -> None:
    """Merges as one text each count as pairs do; Unigram has scores; a strange file is unknown."""
    tokenizer = make(tmp_path)
    pairs = count_gguf_bytes(tmp_path, tokenizer, None)
    path = tmp_path / "tokenizer.json"
    data = json.loads(path.read_text())
    data["model"]["merges"] = [" ".join(pair) for pair in MERGES]
    path.write_text(json.dumps(data))
    assert count_gguf_bytes(tmp_path, tokenizer, None) == pairs
    path.write_text('{"model": 7}')
    assert count_gguf_bytes(tmp_path, tokenizer, None) is None
    unigram = Tokenizer(Unigram([("<unk>", 0.0), ("é", -1.0)], unk_id=0))
    unigram.save(str(path))
    assert count_gguf_bytes(tmp_path, unigram, None) == 2 * (8 + 4 + 4) + len("<unk>é".encode())
