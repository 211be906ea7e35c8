"""Counts answers that a row excludes from training: OpenAI's `weight: 0`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ftc.compiler.resolve.rows.reader import Row
from ftc.runtime.read.chat_rows import find_role, load_messages


@dataclass(slots=True, kw_only=True)
class MessageWeights:
    """Counts the rows with an excluded answer; `column` has the messages, or is None.

    `last_rows` counts those in which every answer but the last is excluded.
    """

    column: str | None
    rows: int = 0
    last_rows: int = 0

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
        excluded = [
            message.get("weight") in (0, False) and message.get("weight") is not None
            for message in messages
            if isinstance(message, dict) and find_role(message.get("role")) == "assistant"
        ]
        if any(excluded):
            self.rows += 1
            self.last_rows += not excluded[-1] and all(excluded[:-1])
