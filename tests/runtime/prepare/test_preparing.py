"""The steps of prepare.py for rows that fit in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.prepare.preparing import make_records, scan, start_workers
from ftc.runtime.prepare.records import RowWork, Source
from ftc.runtime.read.chat_rows import read_chat
from ftc.runtime.read.conversations import Conversations
from ftc.runtime.read.rows import Turns
from ftc.runtime.run import Run


def talk(*texts: str) -> dict[str, Any]:
    """Return the row of a conversation; the user begins."""
    roles = ("user", "assistant") * len(texts)
    pairs = zip(roles, texts, strict=False)
    return {"messages": [{"role": role, "content": text} for role, text in pairs]}


def make(group: Sequence[Turns]) -> list[dict[str, Any]]:
    """Return a record for each row."""
    return [{"input_ids": [1, 2], "labels": [-100, 2]} for _ in group]


@pytest.mark.parametrize(("conversations", "groups"), [(Conversations(), 2), (None, 3)])
def test_rows_of_a_conversation_stay_together(
    tmp_path: Path, conversations: Conversations | None, groups: int
) -> None:
    """A row for each answer repeats the answers before it: one split must have them all."""
    rows = [talk("a", "b"), talk("x", "y"), talk("a", "b", "c", "d")]
    source = Source(columns={"messages": "messages"}, read=read_chat, chunks=lambda: iter([rows]))
    work = RowWork(
        sources=[source], make=make, max_length=9, repair=True, conversations=conversations
    )
    run = Run(tmp_path, stage="prepare")
    workers = start_workers(run, work)

    records = make_records(run, workers, work, scan(run, workers, work), folder=tmp_path)
    records.file.close()

    assert len(records.learned) == len(rows)
    assert len(set(records.prompts)) == groups
