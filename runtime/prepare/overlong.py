"""Shortens records of more than the maximum length; without this they are left out.

Each function returns what happened, and the records that are used instead, if any.
"""

from collections.abc import Callable

from .records import Record, has_learned


def truncate(
    record: Record, most: int, *, cut: Callable[[Record, int], None] | None = None
) -> tuple[str, list[Record]]:
    """Cut a record to `most` tokens; it is left out if nothing is left to learn.

    `cut` shortens more lists of it than the tokens and the labels.
    """
    if cut is not None:
        cut(record, most)
    record["input_ids"] = record["input_ids"][:most]
    if "labels" in record:
        record["labels"] = record["labels"][:most]
        if not has_learned(record["labels"]):
            return "truncated", []
    return "truncated", [record]


def split(record: Record, most: int) -> tuple[str, list[Record]]:
    """Divide a text into pieces of `most` tokens; the first piece keeps the text itself."""
    ids, pieces = record["input_ids"], []
    for start in range(0, len(ids), most):
        piece = ids[start : start + most]
        prompt = "" if start else record["prompt"]
        pieces.append({"input_ids": piece, "labels": piece, "prompt": prompt})
    return "split", pieces
