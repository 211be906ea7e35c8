"""Shortens records of more than the maximum length; without this they are left out."""

from collections.abc import Callable

from .records import Record, has_learned


def truncate(
    record: Record, most: int, *, cut: Callable[[Record, int], None] | None = None
) -> tuple[str, list[Record]]:
    """Cut a record to `most` tokens; it is left out if nothing is left to learn.

    Returns what happened, and the records that are used instead, if any. `cut` shortens
    more lists of it than the tokens and the labels.
    """
    if cut is not None:
        cut(record, most)
    record["input_ids"] = record["input_ids"][:most]
    if "labels" in record:
        record["labels"] = record["labels"][:most]
        if not has_learned(record["labels"]):
            return "truncated", []
    return "truncated", [record]
