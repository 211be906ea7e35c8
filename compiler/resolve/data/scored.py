"""Texts that a head scores: a row is the text's own tokens, with no template and no end."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from ftc.compiler.resolve.data.lengths import Pair
from ftc.compiler.resolve.model.tokenizer_files import LoadedTokenizer
from ftc.compiler.resolve.rows.example import Example
from ftc.runtime.class_records import text_of

_BATCH_ROWS: Final = 2000


def count_scored(examples: Sequence[Example], *, tokenizer: LoadedTokenizer) -> Iterator[Pair]:
    """Yield (tokens, 0) per example, as transformers' pipeline would tokenise its text."""
    for start in range(0, len(examples), _BATCH_ROWS):
        texts = [text_of(example.turns) for example in examples[start : start + _BATCH_ROWS]]
        for encoding in tokenizer.encode(texts, special=True):
            yield len(encoding), 0


def estimate_scored(examples: Sequence[Example], *, chars_per_token: float) -> Iterator[Pair]:
    """Yield (tokens, 0) per example by a ratio of characters per token."""
    for example in examples:
        yield math.ceil(len(text_of(example.turns)) / chars_per_token), 0
