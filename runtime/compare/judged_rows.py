"""The rows that GGUF files are judged on, and how prepare.py made them. Standard library only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRows:
    """The file `path` and its kind of rows.

    Without `has_template` rows have texts instead of messages. `max_length` is the number of tokens
    that rows were cut to, if they were. `adds_end` says that an end token may have been added.
    `is_compared` rows have two answers, and the last token of their common prompt can be part of an
    answer. Of `is_split` rows only the first piece of a text has the text. `count` adds numbers to
    tokens.json, from a `same_tokens.Vocabulary` and the rows. `encode` is given for rows with
    images: see image_records.encode_placed.
    """

    path: Path
    has_template: bool = True
    max_length: int | None = None
    adds_end: bool = False
    is_compared: bool = False
    is_split: bool = False
    count: Callable[[Any, Sequence[Row]], dict[str, int]] | None = None
    encode: Callable[[Callable[[str], list[int]], Any, str], list[int]] | None = None
