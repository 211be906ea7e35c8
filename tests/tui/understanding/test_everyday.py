"""Messages of everyday users: columns in prose, wishes, limits, corrections, ids.

Each entry of `everyday.json` has what it is about, the fields that it sets and no others, and the
draft: an empty one, or that of a small project.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.tui.state.draft import read_draft
from ftc.tui.understanding.columns.column_clauses import find_column_clauses
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.text.message import fold
from tests.tui.understanding.test_annotated import BASE

TABLE: Final[list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("everyday.json").read_text(encoding="utf-8")
)
DRAFTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "empty": {},
    "base": read_draft(BASE).data,
}


@pytest.mark.parametrize("entry", TABLE, ids=lambda entry: f"{entry['about']}: {entry['say']}")
def test_an_everyday_message(entry: Mapping[str, Any]) -> None:
    """Each message sets the expected fields and no others."""
    reading = read(entry["say"], DRAFTS[entry["draft"]])
    assert {each.pointer: each.value for each in reading.changes} == entry["sets"]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "the question is in the column ask, the answer in reply, the click in thumb",
            {"ask": "prompt", "reply": "completion", "thumb": "label"},
        ),
        (
            "a la columna original hi ha el que escriu l'alumne i a net el text corregit",
            {"original": "prompt", "net": "completion"},
        ),
        ("the good one is won_text, the bad one lost_text", {}),
        (
            "pairs.csv: the good one is won_text, the bad one lost_text",
            {"won_text": "chosen", "lost_text": "rejected"},
        ),
        (
            "prefs.jsonl, liked = pref, disliked = dismissed",
            {"pref": "chosen", "dismissed": "rejected"},
        ),
        ("the questions are in English and the answers in Spanish", {}),
        ("tickets.csv: the questions are short and the answers long", {}),
        ("we keep the questions in Notion and the budget in Excel", {}),
    ],
)
def test_clauses_that_are_built_alike(text: str, columns: Mapping[str, str]) -> None:
    """One clause that is surely about a column makes those beside it sure."""
    assert {each.name: each.role for each in find_column_clauses(fold(text))} == columns
