"""The rebuilt tokenizers read texts as the tokens that llama.cpp's own sources expect of them."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from tests.real_tokenizers import KINDS, read_members, real_tokenizer


@pytest.mark.parametrize("name", KINDS)
def test_a_rebuilt_tokenizer_is_the_real_one(name: str, tmp_path: Path, sdist: Path) -> None:
    """Every text beside the vocabulary becomes the ids beside it, `tokenizer.model` included."""
    expected = expected_ids(name, sdist)
    folder = real_tokenizer(name, tmp_path / name, sdist=sdist)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    assert {text: tokenizer.encode(text, add_special_tokens=False).ids for text in expected} == (
        expected
    )
    if (folder / "tokenizer.model").is_file():
        sentencepiece = pytest.importorskip("sentencepiece")
        model = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))
        assert model.vocab_size() == 32_000
        assert {text: model.encode(text) for text in expected} == expected


def expected_ids(name: str, sdist: Path) -> dict[str, list[int]]:
    """Return the texts that llama.cpp tests this vocabulary on, each with its ids."""
    file = f"ggml-vocab-{KINDS[name].vocabulary}.gguf"
    found = read_members(sdist, f"{file}.inp", f"{file}.out")
    *texts, after = found[f"{file}.inp"].decode().split("\n__ggml_vocab_test__\n")
    lines = found[f"{file}.out"].decode().splitlines()
    assert not after
    assert len(texts) > 40
    return {
        text: [int(number) for number in line.split()]
        for text, line in zip(texts, lines, strict=True)
    }
