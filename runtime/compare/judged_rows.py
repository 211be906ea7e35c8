"""The rows that GGUF files are judged on, and how prepare.py made them. Standard library only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRows:
    """The file `path`.

    `is_same` compares a row with a `same_tokens.Vocabulary`: that of conversations, row_kinds or
    plain_rows. Of `is_split` rows only the first piece of a text has the text. `count` adds numbers
    to tokens.json, from a vocabulary and the rows.
    """

    path: Path
    is_same: Callable[[Any, Row], bool]
    is_split: bool = False
    count: Callable[[Any, Sequence[Row]], dict[str, int]] | None = None
