"""What the scripts of the learned models share: the draft and the names of an annotated message."""

import re
from collections.abc import Mapping
from typing import Any, Final

from ftc.tui.questions.answers import understand
from ftc.tui.state.draft import read_draft
from ftc.tui.understanding.reading import Names, Reading
from tests.tui.understanding.test_annotated import BASE, MISSING

#: The columns of the data of the drafts, and a message with data of its own.
COLUMNS: Final = ("message", "intent")
_DATA: Final = re.compile(r"\.(?:csv|tsv|jsonl?|parquet)\b")


def find_draft(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the draft of an entry, in its long form."""
    spec = {key: value for key, value in BASE.items() if key not in MISSING[entry["draft"]]}
    return read_draft(spec).data


def find_columns(text: str, draft: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that a message may name, which are those of its draft's data."""
    return COLUMNS if draft.get("data") is not None and not _DATA.search(text) else ()


def read_entry(entry: Mapping[str, Any]) -> Reading:
    """Return the reading of an entry's message."""
    draft, text = find_draft(entry), entry["say"]
    return understand(
        text, draft, entry.get("pending"), names=Names(columns=find_columns(text, draft))
    )
