"""Compares conversations that were cut, extended by an end token, paired, or have images."""

from collections.abc import Callable
from typing import Any

from .conversations import render_row
from .plain_rows import agrees
from .same_tokens import Row


def is_same(
    vocabulary: Any,
    row: Row,
    *,
    max_length: int | None = None,
    adds_end: bool = False,
    is_compared: bool = False,
    encode: Callable[[Callable[[str], list[int]], Any, str], list[int]] | None = None,
) -> bool:
    """Return whether llama.cpp encodes a row to the same tokens as training did.

    `max_length` and `adds_end` are those of `agrees`. `is_compared` rows have two answers, and the
    last token of their common prompt can be part of an answer. `encode` is given for rows with
    images: see image_records.encode_placed.
    """
    rendered = render_row(vocabulary, row, encode)
    if rendered is None:
        return False
    prompt_ids, ids = rendered
    if is_compared:
        prompt_ids = prompt_ids[: len(row["prompt_ids"])]
    return agrees(row, prompt_ids, ids, max_length=max_length, adds_end=adds_end)
