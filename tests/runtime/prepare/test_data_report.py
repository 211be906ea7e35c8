"""The data report: each row that was changed, by number, and how many rows each split has."""

import io
import json
from array import array
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer

from ftc.runtime.prepare.data_report import show_row, write_report
from ftc.runtime.prepare.mixture import Report
from ftc.runtime.prepare.preparing import Records, Rows
from ftc.runtime.prepare.unlabelled_rows import show_unlabelled
from ftc.runtime.run import Run
from tests.tiny_models import write_model


def make_rows(changes: dict[str, list[int]]) -> Rows:
    """Return 1,200 rows, of which these were changed."""
    numbers = {what: array("I", rows) for what, rows in changes.items()}
    unused = np.zeros(0)
    return Rows(
        sources=[],
        counts=[1200],
        origins=unused,
        keys=unused,
        wanted=np.ones(1200, bool),
        changes=numbers,
    )


def make_records() -> Records:
    """Return a thousand records with 1 to 1,000 tokens, every tenth with the label "no"."""
    labels = array("I", [int(number % 10 == 0) for number in range(1000)])
    return Records(
        file=io.BytesIO(),
        ends=array("Q"),
        lengths=array("I", range(1, 1001)),
        learned=array("I", [1] * 1000),
        prompts=array("q", range(1000)),
        labels=labels,
        origins=array("I", [0] * 1000),
        reasons=array("B", [0] * 1000),
        names={"yes": 0, "no": 1},
    )


SPLITS = {"train": array("I", range(900)), "test": array("I", range(900, 1000))}


def test_the_commonest_change_is_first_and_rows_are_in_order(tmp_path: Path) -> None:
    """What happened to no row is not listed."""
    rows = make_rows({"cut": [3], "duplicate": [1100, 7], "empty": []})
    rows.wanted[6] = False
    printed = write_report(tmp_path, rows, make_records(), SPLITS, round_trip={"rows": 64})

    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert (report["rows_read"], report["rows_usable"], report["rows_used"]) == (1200, 1199, 1000)
    assert list(report["changes"].items()) == [("duplicate", 2), ("cut", 1)]
    assert report["changed_rows"] == [
        {"row": 3, "what": "cut"},
        {"row": 7, "what": "duplicate"},
        {"row": 1100, "what": "duplicate"},
    ]
    assert report["tokens"] == {"p50": 500, "p90": 900, "p95": 950, "p99": 990, "p100": 1000}
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "- duplicate: 7, 1100\n- cut: 3\n" in text
    assert printed in text
    lengths = "median 500, 90% 900, 95% 950, 99% 990, longest 1,000"
    assert f"Tokens per row: {lengths}.\n" in text
    assert "| read | 1,200 |\n| duplicate | 2 |\n| cut | 1 |\n| in train | 900 |" in printed


def test_labels_are_counted_the_commonest_first(tmp_path: Path) -> None:
    """If the answers are labels."""
    rows, records = make_rows({}), make_records()
    write_report(tmp_path, rows, records, SPLITS, round_trip={}, count_labels=True)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["labels"] == [["yes", 900], ["no", 100]]


def test_rows_with_reasoning_are_counted(tmp_path: Path) -> None:
    """And those without; where no row has any, nothing is said."""
    records = make_records()
    silent = write_report(tmp_path, make_rows({}), records, SPLITS, round_trip={})
    assert "reasoning" not in silent
    records.reasons[3:10] = array("B", [1] * 7)
    printed = write_report(tmp_path, make_rows({}), records, SPLITS, round_trip={})
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["reasoning"] == {"with": 7, "without": 993}
    assert "| with reasoning | 7 |\n| without reasoning | 993 |" in printed


def test_a_row_of_a_mixture_is_named_by_its_source(tmp_path: Path) -> None:
    """With its number there."""
    sources: Any = [SimpleNamespace(name="tickets"), SimpleNamespace(name="chats")]
    origins = np.array([0] + [1] * 1199)
    rows = replace(make_rows({"cut": [5]}), sources=sources, counts=[1, 1199], origins=origins)
    records = replace(make_records(), origins=array("I", [1] * 1000))
    mixture = Report(rows=rows, records=records, splits=SPLITS)
    printed = write_report(tmp_path, rows, records, SPLITS, round_trip={}, mixture=mixture)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["changed_rows"] == [{"source": "chats", "row": 4, "what": "cut"}]
    assert "- cut: chats 4\n" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| tickets | 1 | 0 | 0 | 0 |\n| chats | 1,199 | 1,000 | 900 | 100 |" in printed


def test_a_row_is_shown_as_what_is_read_and_what_is_learned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the tokens that training sees, as a real tokenizer decodes them."""
    tokenizer = AutoTokenizer.from_pretrained(write_model(tmp_path / "model"))
    asked = tokenizer("my parcel", add_special_tokens=False)["input_ids"]
    learned = tokenizer("parcel", add_special_tokens=False)["input_ids"]
    row = {"input_ids": asked + learned, "labels": [-100] * len(asked) + learned}

    show_row(Run(tmp_path, stage="prepare"), tokenizer, json.dumps(row).encode() + b"\n{}")

    assert capsys.readouterr().out.splitlines() == [
        f"one row, what is read:    {tokenizer.decode(asked)!r}",
        f"one row, what is learned: {tokenizer.decode(learned)!r}",
    ]


@pytest.mark.parametrize(
    ("row", "lines"),
    [
        (
            {"anchor": "a", "positive": "b", "score": 0.5},
            ["one row, its anchor: 'a'", "one row, its positive: 'b'", "one row, its score: 0.5"],
        ),
        (
            {"input_ids": [], "answer": "late"},
            ["one row, what is read: ''", "one row, its label:    'late'"],
        ),
        (
            {"input_ids": [], "completion_ids": [], "label": False, "answer": "late"},
            ["one row, what is read: ''", "one row, its label:    bad"],
        ),
        (
            {"prompt_ids": [], "chosen_ids": [], "rejected_ids": [], "answer": "late"},
            [f"one row, its {name}: ''" for name in ("prompt", "chosen", "rejected")],
        ),
    ],
)
def test_a_row_without_labels_of_tokens_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, Any], lines: list[str]
) -> None:
    """Texts and answers that are compared, and the label of a classification and of feedback."""
    tokenizer = AutoTokenizer.from_pretrained(write_model(tmp_path / "model"))
    show_unlabelled(Run(tmp_path, stage="prepare"), tokenizer, json.dumps(row).encode())
    assert capsys.readouterr().out.splitlines() == lines


def test_the_lengths_are_those_that_the_plan_counts(tmp_path: Path) -> None:
    """Of 60 rows, 59 are only 98%: the 99th percentile is the longest row, here and in the plan."""
    lengths = array("I", range(1, 61))
    records = replace(make_records(), lengths=lengths)
    write_report(tmp_path, make_rows({}), records, SPLITS, round_trip={"rows": 60})
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["tokens"] == {"p50": 30, "p90": 54, "p95": 57, "p99": 60, "p100": 60}
