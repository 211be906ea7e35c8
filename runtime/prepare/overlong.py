"""Shortens records that exceed the maximum length; without this module they are left out."""

from collections.abc import Callable

from .records import Record, has_learned


def truncate(
    record: Record, most: int, *, cut: Callable[[Record, int], None] | None = None
) -> tuple[str, list[Record]]:
    """Cut a record to `most` tokens; leave it out if nothing is left to learn.

    Returns what happened, and the records to use instead, if any. `cut` shortens
    the lists of the record other than tokens and labels.
    """
    if cut is not None:
        cut(record, most)
    record["input_ids"] = record["input_ids"][:most]
    if "labels" in record:
        record["labels"] = record["labels"][:most]
        if not has_learned(record["labels"]):
            return "truncated", []
    return "truncated", [record]
