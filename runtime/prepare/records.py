"""What a process does with a chunk of rows: scans them, and turns them into records.

A record is what training reads of a row: a line of JSON with its tokens and labels.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, NamedTuple

from jinja2 import TemplateError

from ..read.reasoning import has_reasoning
from ..read.rows import (
    DataError,
    Fault,
    Turns,
    clean_turns,
    is_repaired,
    prompt_key,
    row_key,
)
from ..tokens.encoding import NOT_LEARNED

Record = dict[str, Any]
Chunk = Any  # rows as they are read: a list, or a batch of a parquet file
GROUP_ROWS: Final = 16  # rows that share the cost of a call of the tokenizer
# Made once: json.dumps makes an encoder for each row, and searches for cycles that no record has.
_to_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


class Made(NamedTuple):
    """What became of a row; `line` is empty if it is left out, `change` if nothing happened.

    `tokens` is 0 for a row without tokens. `answer` is the text of the last turn, if it is kept.
    `reasons` says whether an answer has reasoning before it. `answer_keys` are those of
    `Conversations`.
    """

    change: str
    tokens: int
    is_learned: bool
    prompt_key: int
    answer: str
    line: bytes
    reasons: bool = False
    answer_keys: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Rows of one data set: `chunks` reads them, `unpack` returns those of a chunk.

    `read` returns the turns of a row; it is given the column of each role in `columns`. A streamed
    source has `again`, which returns a number of rows from the beginning again, and
    `is_enough`, which returns after each chunk whether enough rows came: see streaming.Stream.
    """

    columns: Mapping[str, str]
    read: Callable[..., Turns | Fault]
    chunks: Callable[[], Iterator[Chunk]]
    unpack: Callable[[Chunk], Iterable[Any]] = iter
    name: str = "the data"
    max_rows: int | None = None
    again: Callable[[int], Iterator[Chunk]] | None = None
    is_enough: Callable[[Sequence[int], int], bool] | None = None

    @property
    def needed(self) -> list[str]:
        """The columns that the data must have."""
        return [column for role, column in self.columns.items() if role != "tools"]

    def read_row(
        self, row: Any, *, repair: bool, strip: Callable[[Turns], Turns] | None = None
    ) -> tuple[Turns | Fault, bool]:
        """Return the cleaned turns of a row, and whether its encoding was repaired."""
        if not isinstance(row, dict):
            return "unreadable", False
        raw = self.read(row, **self.columns)
        if isinstance(raw, str):
            return raw, False
        raw = strip(raw) if strip else raw
        turns = clean_turns(raw, repair=repair)
        return turns, repair and not isinstance(turns, str) and is_repaired(raw)


def _count(record: Record) -> int:
    return len(record["input_ids"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWork:
    """The settings of the work on rows; processes get it when they are started.

    `make` returns the records of a group of rows. `count` counts the tokens of a record. `shorten`
    is `overlong.truncate` or `text_records.split_text` for a record that has more than
    `max_length`; without it the record is left out. `strip` is that of `reasoned_chats`, if answers
    lose the reasoning before them. `keep_answers` is set if the answers are labels, which are
    counted. `conversations` is a `conversations.Conversations` if rows may continue one another.
    """

    sources: Sequence[Source]
    make: Callable[[Sequence[Turns]], Sequence[Record]]
    max_length: int
    repair: bool
    keep_answers: bool = False
    strip: Callable[[Turns], Turns] | None = None
    conversations: Any = None
    count: Callable[[Record], int] = _count
    shorten: Callable[[Record, int], tuple[str, list[Record]]] | None = None

    def scan(self, job: tuple[int, Chunk]) -> tuple[int, set[str], list[tuple[str, int]]]:
        """Return a chunk's source, its columns and, for each row, its change and its key.

        The key is 0 for a row that is left out.
        """
        number, chunk = job
        source, columns, looks = self.sources[number], set[str](), []
        for row in source.unpack(chunk):
            columns.update(row if isinstance(row, dict) else ())
            turns, repaired = self._read_row(row, source)
            if isinstance(turns, str):
                looks.append(("blank" if turns == "blank" else "malformed", 0))
            else:
                looks.append(("repaired" if repaired else "", row_key(turns)))
        return number, columns, looks

    def make_records(self, job: tuple[int, Chunk, Sequence[bool]]) -> list[Made]:
        """Turn the wanted rows of a chunk into records."""
        number, chunk, wanted = job
        source = self.sources[number]
        rows = [self._read(row, source) for row in compress(source.unpack(chunk), wanted)]
        groups = (rows[i : i + GROUP_ROWS] for i in range(0, len(rows), GROUP_ROWS))
        return [made for group in groups for made in map(self._finish, group, self.try_make(group))]

    def _read(self, row: Any, source: Source) -> Turns:
        turns, _ = self._read_row(row, source)
        if isinstance(turns, str):
            raise DataError("the data changed while they were read")
        return turns

    def _read_row(self, row: Any, source: Source) -> tuple[Turns | Fault, bool]:
        return source.read_row(row, repair=self.repair, strip=self.strip)

    def try_make(self, group: Sequence[Turns]) -> Sequence[Record | None]:
        """Return the records of a group, None for rows that the chat template rejects."""
        try:
            return self.make(group)
        except TemplateError:
            half = len(group) // 2
            return [*self.try_make(group[:half]), *self.try_make(group[half:])] if half else [None]

    def _finish(self, turns: Turns, record: Record | None) -> Made:
        """Return a record as a line, or why it is left out."""
        if record is None:
            return Made("malformed", 0, False, 0, "", b"")
        tokens, change, pieces = self.count(record), "", [record]
        if tokens > self.max_length:
            if self.shorten is None:
                return Made("overlong", tokens, False, 0, "", b"")
            change, pieces = self.shorten(record, self.max_length)
            if not pieces:
                return Made("nothing to learn within max_length", tokens, False, 0, "", b"")
        labels = record.get("labels")  # a classification has a number instead
        is_learned = labels is None or has_learned(labels)
        line = b"".join([_to_json(piece).encode() + b"\n" for piece in pieces])
        answer = turns[-1][1] if self.keep_answers else ""
        return Made(
            change,
            tokens,
            is_learned,
            prompt_key(turns),
            answer,
            line,
            has_reasoning(turns),
            () if self.conversations is None else self.conversations.key_answers(turns),
        )


def has_learned(labels: Sequence[int]) -> bool:
    """Return whether any token of a row is learned."""
    return any(label != NOT_LEARNED for label in labels)
