"""How a model was made: the plan beside what was measured, time, settings, versions, hashes."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.files import write_json
from ftc.runtime.reports import page, report_making
from ftc.runtime.reports.page import Parts
from ftc.runtime.reports.results import Results, read_results
from tests.runtime.reports.test_report import CURVE, PREPARED, finish, make_run, write_bundle


def read(folder: Path) -> Results:
    """Return the results of a bundle."""
    return read_results(make_run(folder, "quantize"))


def rows_of(parts: Parts) -> list[list[Any]]:
    """Return the rows of all tables."""
    return [list(row) for part in parts if isinstance(part, page.Table) for row in part.rows]


@pytest.fixture(name="bundle")
def _bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path)


def test_data_are_counted(bundle: Path) -> None:
    """What was read, what happened to rows, and what each split has."""
    assert rows_of(report_making.describe_data(read(bundle))) == [
        ["read", "90"],
        ["duplicate", "7"],
        ["blank", "3"],
        ["used", "80"],
        ["in train", "70"],
        ["in test", "10"],
    ]


def test_sources_of_a_mixture_are_counted(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a row, and nothing is said of a file of changes where nothing was changed."""
    numbers = {"read": 1200, "used": 1000, "train": 900, "validation": 50, "test": 50}
    sources = [{"source": "calls | old.csv", **numbers}]
    monkeypatch.setitem(PREPARED, "sources", sources)
    monkeypatch.setitem(PREPARED, "changes", {})
    finish(bundle, "prepare")
    parts = report_making.describe_data(read(bundle))

    assert ["calls | old.csv", "1,200", "1,000", "900", "50", "50"] in rows_of(parts)
    assert not any(isinstance(part, page.Paragraph) for part in parts)


def test_the_plan_is_beside_what_was_measured(bundle: Path) -> None:
    """Sizes below one GiB are shown in MiB; a plan without a time shows none."""
    results = read(bundle)
    rows = rows_of(report_making.compare_plan(results))
    assert rows == [
        ["training", "1 s to 3 s", "2 s"],
        ["peak memory of one process", "2.00 GiB", "1.00 GiB"],
        ["model-Q8_0.gguf", "2.0 MiB", "1.0 MiB"],
    ]

    untimed = replace(results, plan={**results.plan, "seconds": None})
    assert rows_of(report_making.compare_plan(untimed)) == rows[1:]


def test_a_file_without_a_planned_size_is_left_out(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of an encoder are not planned."""
    results = read(bundle)
    files = [{"file": "a.gguf", "bytes": 1}, {"file": "b.gguf", "bytes": 1, "predicted_bytes": 2}]
    monkeypatch.setattr(
        Results, "read", lambda _, name: CURVE if name.startswith("train") else {"files": files}
    )

    assert [row[0] for row in rows_of(report_making.compare_plan(results))][2:] == ["b.gguf"]


SCRIPT = """
import os
MODEL = "acme/other"
LADDER = [[4, 2], [2, 4]]
LEARNING_RATE = 0.0002
EPOCHS = None
LORA_TARGETS = ["q_proj", "k_proj"]
SEED = int(os.environ.get("SEED", "7"))
SCHEDULE: str = "cosine"
TEACHER = "%s"
first, BETA = 1, 0.5
"""


@pytest.fixture(name="edited")
def _edited(bundle: Path) -> Path:
    """Return a bundle whose user has edited train.py before training."""
    (bundle / "train.py").write_text(SCRIPT % ("x" * 200), encoding="utf-8")
    finish(bundle, "train")
    return bundle


def test_settings_are_the_constants_as_they_are_now(edited: Path) -> None:
    """What is computed is no setting; a long one is shortened."""
    settings = report_making.read_settings(read_results(make_run(edited, "train")))

    assert settings["base model"] == "acme/other"
    assert settings["learning rate"] == "0.0002"
    assert settings["lora targets"] == "['q_proj', 'k_proj']"
    assert settings["schedule"] == "cosine"
    assert settings["teacher"] == f"{'x' * 100} …"
    assert settings.keys().isdisjoint({"seed", "epochs", "beta"})
    assert settings["rows per optimizer step"].startswith("16 (micro-batch 4 x accumulation 2 x")


def test_the_batch_is_that_of_the_row_that_fitted(edited: Path) -> None:
    """Training ran out of memory twice, and each time is told."""
    changes = [
        {"step": 1200, "from": [4, 2], "to": [2, 4], "held_bytes": 3 * 2**30},
        {"step": 1300, "from": [2, 4], "to": [1, 8], "held_bytes": 2**30},
    ]
    write_json(edited / "run" / "train" / "batch.json", {"row": 1, "changes": changes})
    results = read_results(make_run(edited, "train"))
    told = [part.text for part in report_making.list_batch_changes(results)]  # type: ignore[union-attr]

    settings = report_making.read_settings(results)
    assert settings["rows per optimizer step"].startswith("16 (micro-batch 2 x accumulation 4 x")
    assert told[0] == (
        "Out of memory after step 1,200 (3.00 GiB held) with 4 rows x 2 passes, since then 2 x 4:"
        " the same batch."
    )
    assert len(told) == 2


def test_without_a_change_of_the_batch_nothing_is_told(bundle: Path) -> None:
    """The file is not written before memory ran out."""
    assert report_making.list_batch_changes(read(bundle)) == []


def test_stages_take_their_time(bundle: Path) -> None:
    """And all of them together the sum."""
    rows = rows_of(report_making.list_times(read(bundle)))

    assert rows[-1] == ["in all", "10 s"]
    assert {row[1] for row in rows[:-1]} == {"2 s"}


def test_hashes_are_those_of_the_plan_and_of_the_lock(bundle: Path) -> None:
    """The lock names everything else that the bundle was compiled from."""
    rows = dict(rows_of(report_making.list_hashes(read(bundle))))
    lock = hashlib.sha256((bundle / "ftc.lock.json").read_bytes()).hexdigest()

    assert rows["ftc.lock.json"] == lock
    assert rows["the data"] == "d" * 64


def test_versions_have_the_one_of_ftc_first(bundle: Path) -> None:
    """Of a run that has not trained, they are those installed now."""
    results = read(bundle)
    records = {name: record for name, record in results.records.items() if name != "train"}
    heading, table = report_making.list_versions(replace(results, records=records))

    assert isinstance(heading, page.Heading)
    assert heading.text == "Versions at the time of this report"
    assert isinstance(table, page.Table)
    assert table.rows[0] == ("ftc", "1.2.3")
