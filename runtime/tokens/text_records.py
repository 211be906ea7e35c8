"""Turns plain texts into tokens, all of which are learned, and long ones into pieces."""

from collections.abc import Sequence
from typing import Any

from ..read.rows import Turns
from .encoding import Encoder


def make_texts(group: Sequence[Turns], *, encoder: Encoder) -> list[dict[str, Any]]:
    """Return the record of each plain text: its tokens, all of them learned, and the text."""
    texts = [turns[0][1] for turns in group]
    found = encoder.encode_marked(texts)
    for ids in found:
        if ids[-1] != encoder.eos:
            ids.append(encoder.eos)
    return [
        {"input_ids": ids, "labels": ids, "prompt": text}
        for ids, text in zip(found, texts, strict=True)
    ]


def split_text(record: dict[str, Any], most: int) -> tuple[str, list[dict[str, Any]]]:
    """Divide a text into pieces of `most` tokens; the first piece keeps the text itself.

    Returns what happened, and the records that are used instead.
    """
    ids, pieces = record["input_ids"], []
    for start in range(0, len(ids), most):
        piece = ids[start : start + most]
        prompt = "" if start else record["prompt"]
        pieces.append({"input_ids": piece, "labels": piece, "prompt": prompt})
    return "split", pieces
