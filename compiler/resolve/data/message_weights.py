"""Counts answers with a weight that a bundle does not read: other than OpenAI's 0 and 1."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ftc.compiler.resolve.rows.reader import Row
from ftc.runtime.read.chat_rows import find_role, load_messages


@dataclass(slots=True, kw_only=True)
class MessageWeights:
    """Counts the rows with such an answer; `column` has the messages, or is None."""

    column: str | None
    rows: int = 0

    def watch(self, rows: Iterator[Row | None]) -> Iterator[Row | None]:
        """Yield the rows unchanged, and count them."""
        for row in rows:
            if row and self.column is not None:
                self._count(row.get(self.column))
            yield row

    def _count(self, cell: Any) -> None:
        if isinstance(cell, str) and "weight" not in cell:
            return
        messages = load_messages(cell)
        if isinstance(messages, str):
            return
        self.rows += any(
            message.get("weight") not in (None, 0, 1)
            for message in messages
            if isinstance(message, dict) and find_role(message.get("role")) == "assistant"
        )
