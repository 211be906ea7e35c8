"""What a report reads: records of stages that are up to date, and files as they were written."""

import json
from pathlib import Path

import pytest

from ftc.runtime.files import write_json, write_rows
from ftc.runtime.reports.results import load_part, read_results
from tests.runtime.reports.test_report import STAGES, finish, make_run, write_bundle


@pytest.fixture(name="bundle")
def _bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path)


def test_the_plan_says_which_stages_there_are(bundle: Path) -> None:
    """All are done, and the report itself is none of them."""
    results = read_results(make_run(bundle, "quantize"))

    assert tuple(results.records) == results.stages == STAGES
    assert results.is_complete
    assert results.decided == {
        "precision": "fp32",
        "world": 2,
        "metric": "accuracy",
        "lora_rank": 8,
    }


def test_a_stage_that_has_not_run_has_no_record(tmp_path: Path) -> None:
    """Its record may also be that of another version of ftc, or damaged."""
    bundle = write_bundle(tmp_path, stages=STAGES[:-1])
    for damage in ("", "{", '{"version": 1}', "[]"):
        (bundle / "run" / "done" / "quantize.json").write_text(damage, encoding="utf-8")
        results = read_results(make_run(bundle, "evaluate"))
        assert tuple(results.records) == STAGES[:-1]
        assert not results.is_complete


@pytest.mark.parametrize("change", ["source", "output", "training"])
def test_a_later_stage_counts_while_it_is_up_to_date(bundle: Path, change: str) -> None:
    """A changed script, result or training makes a stage's result stale; no stage fails for it."""
    if change == "source":
        (bundle / "export.py").write_text("# edited", encoding="utf-8")
        finish(bundle, "evaluate")
    elif change == "output":
        write_json(bundle / "run" / "quantize" / "quality.json", {"files": []})
    else:
        finish(bundle, "train")
        finish(bundle, "evaluate")
    run = make_run(bundle, "train" if change == "source" else "evaluate")
    results = read_results(run)

    assert "quantize" not in results.records
    assert "evaluate" in results.records


def test_an_earlier_stage_must_be_up_to_date(bundle: Path) -> None:
    """Its results would be shown as those of the scripts as they are now."""
    (bundle / "prepare.py").write_text("# edited", encoding="utf-8")

    with pytest.raises(SystemExit, match=r"prepare\.py has changed since stage `prepare` ran"):
        read_results(make_run(bundle, "evaluate"))


def test_a_file_is_read_as_its_stage_wrote_it(bundle: Path) -> None:
    """A missing file is named, and one that was changed ends the stage."""
    results = read_results(make_run(bundle, "quantize"))
    assert results.read("data/report.json")["rows_used"] == 80
    with pytest.raises(SystemExit, match=r"run/none\.json is missing"):
        results.read("none.json")

    write_json(bundle / "run" / "data" / "report.json", {})
    with pytest.raises(SystemExit, match="has changed since stage `prepare` wrote it"):
        results.read("data/report.json")


def test_rows_are_those_that_the_evaluation_recorded(bundle: Path) -> None:
    """A file that lies there from an earlier evaluation is not shown."""
    write_rows(bundle / "run" / "evaluate" / "old.jsonl", [{"a": 1}])
    results = read_results(make_run(bundle, "quantize"))

    assert len(results.read_rows("predictions.jsonl")) == 80
    assert results.read_rows("old.jsonl") == []
    record = json.loads((bundle / "run" / "done" / "evaluate.json").read_text(encoding="utf-8"))
    assert "run/evaluate/old.jsonl" not in record["outputs"]


def test_a_part_is_loaded_by_its_name() -> None:
    """A bundle carries the parts whose results it has."""
    assert callable(load_part("pairs").divide)
    with pytest.raises(ModuleNotFoundError):
        load_part("none")
