"""How rows are compared that are more than a conversation as its chat template writes it."""

from collections.abc import Callable
from typing import Any

from .judged_rows import Row
from .same_tokens import render_row


def is_same(
    vocabulary: Any,
    row: Row,
    *,
    has_template: bool = True,
    max_length: int | None = None,
    adds_end: bool = False,
    is_compared: bool = False,
    encode: Callable[[Callable[[str], list[int]], Any, str], list[int]] | None = None,
) -> bool:
    """Return whether llama.cpp reads a row as the tokens that training read.

    Without `has_template` rows have texts instead of messages. `max_length` is the number of tokens
    that rows were cut to, if they were. `adds_end` says that an end token may have been added.
    `is_compared` rows have two answers, and the last token of their common prompt can be part of an
    answer. `encode` is given for rows with images: see image_records.encode_placed.
    """
    if has_template:
        rendered = render_row(vocabulary, row, encode)
        if rendered is None:
            return False
        prompt_ids, ids = rendered
        if is_compared:
            prompt_ids = prompt_ids[: len(row["prompt_ids"])]
    else:
        prompt_ids = ids = vocabulary.encode(row["prompt"], add_bos=True)
        if "answer" in row:
            ids = [*prompt_ids, *vocabulary.encode(row["answer"])]
    if prompt_ids != row.get("prompt_ids", prompt_ids):
        return False
    row_ids = row["input_ids"]
    is_cut = len(row_ids) == max_length and ids[:max_length] == row_ids
    return is_cut or ids == row_ids or (adds_end and ids == row_ids[:-1])
