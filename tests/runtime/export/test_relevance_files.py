"""The GGUF files of a reranker: pairs are joined as its own tokenizer joins them."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from ftc.runtime.export.relevance_files import join

WORDS = [f"w{n}" for n in range(30)]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)


def make_tokenizer() -> Any:
    """Return a tokenizer that joins two texts as XLM-R's does."""
    vocabulary = {word: n for n, word in enumerate(["<s>", "</s>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tokenizer


TOKENIZER, CUTTING = make_tokenizer(), make_tokenizer()


def tokenize(text: bytes, *, special: bool) -> list[int]:
    """Return the tokens of a text as llama.cpp does, with a marker at each end."""
    assert special
    found: list[int] = TOKENIZER.encode(text.decode()).ids
    return found


@settings(max_examples=300)
@given(TEXTS, TEXTS, st.integers(4, 24))
def test_a_pair_is_cut_as_the_tokenizer_cuts_it(query: str, text: str, max_length: int) -> None:
    """The tokens are those that the model was trained on, however long the texts are."""
    CUTTING.enable_truncation(max_length, strategy="longest_first")
    wanted = CUTTING.encode(query, text).ids
    llm = SimpleNamespace(tokenize=tokenize)

    assert join(llm, query, text, max_length=max_length) == wanted


@pytest.mark.parametrize("max_length", [4, 5, 512])
def test_markers_are_never_cut(max_length: int) -> None:
    """They tell the model where the texts begin and end."""
    llm = SimpleNamespace(tokenize=tokenize)
    found = join(llm, "w1 w2 w3", "w4 w5", max_length=max_length)

    assert [token for token in found if token < 2] == [0, 1, 1, 1]
    assert len(found) <= max_length
