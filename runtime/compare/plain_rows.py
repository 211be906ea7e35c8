"""Compares rows that have texts instead of messages, and so use no chat template."""

from typing import Any

from .same_tokens import Row


def is_same(
    vocabulary: Any, row: Row, *, max_length: int | None = None, adds_end: bool = False
) -> bool:
    """Return whether llama.cpp encodes a row to the same tokens as training did.

    `max_length` and `adds_end` are those of `agrees`.
    """
    prompt_ids = ids = vocabulary.encode(row["prompt"], add_bos=True)
    if "answer" in row:
        ids = [*prompt_ids, *vocabulary.encode(row["answer"])]
    return agrees(row, prompt_ids, ids, max_length=max_length, adds_end=adds_end)


def agrees(
    row: Row, prompt_ids: list[int], ids: list[int], *, max_length: int | None, adds_end: bool
) -> bool:
    """Return whether the tokens of a row are `ids`, and those of its prompt `prompt_ids`.

    `max_length` is the number of tokens that rows were cut to, if they were. `adds_end` says that
    an end token may have been added.
    """
    if prompt_ids != row.get("prompt_ids", prompt_ids):
        return False
    row_ids = row["input_ids"]
    is_cut = len(row_ids) == max_length and ids[:max_length] == row_ids
    return is_cut or ids == row_ids or (adds_end and ids == row_ids[:-1])
