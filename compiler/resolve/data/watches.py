"""Inspects the rows of a source while they are counted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ftc.compiler.resolve.columns.pair_scores import PairScoreCount
from ftc.compiler.resolve.columns.unread_columns import UnreadColumns
from ftc.compiler.resolve.content.unseen_clips import UnseenClips
from ftc.compiler.resolve.content_facts import Contents
from ftc.compiler.resolve.data.unseen_images import UnseenImages
from ftc.compiler.resolve.rows.reader import Row
from ftc.compiler.resolve.rows.roles import Roles
from ftc.runtime.read.chat_rows import find_role, load_messages
from ftc.spec.sections import Columns


@dataclass(slots=True, kw_only=True)
class MessageWeights:
    """Counts the rows with an answer whose weight a bundle does not read: other than 0 and 1.

    The weight is OpenAI's. `column` has the messages, or is None.
    """

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


@dataclass(slots=True, kw_only=True)
class NeutralLabels:
    """Counts the rows labelled 0 in a file that labels bad answers -1: both are read as bad.

    `column` has the labels, or is None.
    """

    column: str | None
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        """The rows between the good and the bad ones; none where 0 is the only word for bad."""
        return self.counts["0"] if self.counts["-1"] else 0

    def watch(self, rows: Iterator[Row | None]) -> Iterator[Row | None]:
        """Yield the rows unchanged, and count them."""
        for row in rows:
            if row and self.column is not None:
                word = str(row.get(self.column)).strip().removesuffix(".0")
                if word in ("0", "-1"):
                    self.counts[word] += 1
            yield row


class Watches:
    """Looks at the columns without a role, and at the keys of messages.

    `named` are the roles that the spec gives; `folder` has the files.
    """

    def __init__(
        self, columns: Sequence[str], roles: Roles, named: Columns, *, folder: Path
    ) -> None:
        unassigned = [name for name in columns if name not in roles.columns()]
        self.images = UnseenImages(columns=unassigned, folder=folder)
        self.clips = UnseenClips(columns=unassigned)
        self.unread = UnreadColumns(columns=unassigned, roles=roles, named=named)
        self.weights = MessageWeights(column=roles.messages)
        self.neutral = NeutralLabels(column=roles.label)
        self.scores = PairScoreCount(unassigned, roles)

    def watch(self, rows: Iterator[Row | None]) -> Iterator[Row | None]:
        """Yield the rows unchanged, and inspect each."""
        seen = self.scores.watch(self.clips.watch(self.images.watch(rows)))
        return self.neutral.watch(self.weights.watch(self.unread.watch(seen)))

    def add_to(self, contents: Contents) -> Contents:
        """Return the contents with the results."""
        watches = (self.images, self.clips, self.unread)
        found = {name: rows for watch in watches for name, rows in watch.found().items()}
        return replace(
            contents,
            **found,
            weighed_rows=self.weights.rows,
            neutral_rows=self.neutral.rows,
            pair_scores=self.scores.found(),
        )
