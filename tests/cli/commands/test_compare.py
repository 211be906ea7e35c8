"""`ftc compare`: differences of specs and decisions, results with their uncertainty, a verdict."""

import json
import random
import sys
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from ftc.runtime.metric import metrics

Call = Callable[..., Any]


def write_run(folder: Path, hits: Sequence[int], *, rate: float, loss: float = 1.0) -> Path:
    """Write what the stages of a bundle leave behind; each hit is one test row."""
    (folder / "run/evaluate").mkdir(parents=True)
    (folder / "run/train").mkdir(parents=True)
    spec = {
        "name": folder.name,
        "model": "a/b",
        "data": "c.csv",
        "training": {"learning_rate": rate},
    }
    (folder / "spec.json").write_text(json.dumps(spec))
    decisions = {"global_batch": {"source": "derived", "value": 8 if rate < 1e-3 else 16}}
    (folder / "ftc.lock.json").write_text(json.dumps({"decisions": decisions}))
    (folder / "plan.json").write_text(json.dumps({"name": folder.name, "stages": ["train"]}))
    events = [
        {"stage": "train", "event": "began", "time": 10.0, "pid": 1, "host": "x"},
        {"stage": "train", "event": "done", "time": 70.0, "seconds": 60.0},
    ]
    (folder / "run/stages.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in events))
    log = [{"time": 1.0, "step": step, "steps": 3, "loss": loss / step} for step in (1, 2, 3)]
    log.append({"time": 2.0, "step": 3, "steps": 3, "eval_loss": loss, "memory_bytes": 2**30})
    (folder / "run/train/log.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in log))
    rows = [
        {
            "prompt": f"question {place}",
            "answer": "yes",
            "said": "yes" if hit else "no",
            "score": hit,
        }
        for place, hit in enumerate(hits)
    ]
    path = folder / "run/evaluate/predictions.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    measured = {
        "exact_match": metrics.share(list(hits)),
        "loss": metrics.loss([loss + 0.001 * (n % 3) for n in range(len(hits))], [1] * len(hits)),
    }
    report = {"rows": len(hits), **metrics.describe(measured, None, ""), "tokens": len(hits)}
    (folder / "run/evaluate/report.json").write_text(json.dumps(report))
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Return a run, one that is hardly different, and one that is much better."""
    generator = random.Random(0)  # noqa: S311 - reproducible
    first = [int(generator.random() < 0.5) for _ in range(200)]
    near = [1 - hit if place in (3, 9, 77) else hit for place, hit in enumerate(first)]
    better = [1 if place % 3 else hit for place, hit in enumerate(first)]
    return (
        write_run(tmp_path / "first", first, rate=1e-4),
        write_run(tmp_path / "near", near, rate=2e-4),
        write_run(tmp_path / "better", better, rate=1e-3, loss=0.5),
    )


def test_what_differs_and_what_does_not(call: Call, runs: tuple[Path, ...]) -> None:
    """Only fields and decisions with several values are listed."""
    result = call("compare", *runs)
    assert result.code == 0, result.err
    said = result.out
    assert "training.learning_rate  0.0001  0.0002  0.001" in said
    assert "global_batch" in said
    assert "data.source" not in said
    assert "60 s" in said
    assert "1.00 GiB" in said


def test_the_verdicts_are_those_of_pairs(call: Call, runs: tuple[Path, ...]) -> None:
    """Three rows of 200 distinguish nothing; sixty do."""
    data = json.loads(call("compare", *runs, "--format", "json").out)
    schema = json.loads((files("ftc") / "compare.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(data)
    found = {(each["run"], each["measure"]): each for each in data["changes"]}
    near, better = found["near", "exact_match"], found["better", "exact_match"]
    assert (near["verdict"], near["rows"], near["differ"]) == ("not distinguishable", 200, 3)
    assert better["verdict"] == "better"
    low, high = better["interval"]
    assert 0 < low < better["change"] < high
    assert found["better", "loss"]["verdict"] == "better"
    assert found["near", "loss"]["verdict"] == "not distinguishable"
    assert (data["best"], data["not_distinguishable"]) == ("better", [])


def test_a_plain_verdict(call: Call, runs: tuple[Path, ...]) -> None:
    """Its last line says it in words."""
    last = call("compare", *runs[:2]).out.splitlines()[-1]
    assert last == "verdict: these runs are not distinguishable by exact_match"
    assert call("compare", *runs).out.splitlines()[-1] == (
        "verdict: better is the best by exact_match"
    )


def test_other_rows_are_not_paired(call: Call, tmp_path: Path, runs: tuple[Path, ...]) -> None:
    """Runs on other test rows are compared by their intervals."""
    other = write_run(tmp_path / "other", [1] * 200, rate=1e-4)
    path = other / "run/evaluate/predictions.jsonl"
    path.write_text(path.read_text().replace("question", "another question"))
    data = json.loads(call("compare", runs[0], other, "--format", "json").out)
    change = next(each for each in data["changes"] if each["measure"] == "exact_match")
    assert (change["rows"], change["verdict"]) == (0, "better")


def test_a_separator_inside_of_a_text_ends_no_row(call: Call, runs: tuple[Path, ...]) -> None:
    """The same rows of both runs are paired, whatever letters they have."""
    for folder in runs[:2]:
        path = folder / "run/evaluate/predictions.jsonl"
        path.write_text(path.read_text().replace("question", "a\u2028question"), encoding="utf-8")
    data = json.loads(call("compare", *runs[:2], "--format", "json").out)
    change = next(each for each in data["changes"] if each["measure"] == "exact_match")
    assert change["rows"] == 200


def test_a_run_that_was_not_evaluated(call: Call, runs: tuple[Path, ...]) -> None:
    """It is said, and nothing is claimed."""
    (runs[1] / "run/evaluate/report.json").unlink()
    result = call("compare", *runs[:2])
    assert result.code == 0
    assert "near has not been evaluated" in result.out
    assert "verdict" not in result.out
    (runs[0] / "run/evaluate/report.json").unlink()
    assert "near and first: neither has been evaluated" in call("compare", *runs[:2]).out


def test_runs_with_no_measure_in_common(call: Call, runs: tuple[Path, ...]) -> None:
    """It is said, and nothing is claimed."""
    path = runs[1] / "run/evaluate/report.json"
    path.write_text(json.dumps({"rows": 3, "judged": {"spearman": 0.1}, "spearman": 0.1}))
    result = call("compare", *runs[:2])
    assert (result.code, "no measure in common" in result.out) == (0, True)
    assert "verdict" not in result.out


def test_one_picture_has_all_curves(call: Call, runs: tuple[Path, ...]) -> None:
    """A line for each run, and its name."""
    root = ET.fromstring(call("compare", *runs, "--format", "svg").out)  # noqa: S314 - our own
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}polyline")) == 3
    assert {"first", "near", "better", "loss", "step"} <= {
        each.text for each in root.findall(f"{space}text")
    }


def test_equal_names_are_told_apart(call: Call, tmp_path: Path, runs: tuple[Path, ...]) -> None:
    """By their folders."""
    twin = write_run(tmp_path / "copy" / "first", [1] * 20, rate=1e-4)
    assert str(twin) in call("compare", runs[0], twin).out


@pytest.mark.parametrize("damage", ["report.json", "predictions.jsonl"])
def test_damaged_results_are_no_traceback(call: Call, runs: tuple[Path, ...], damage: str) -> None:
    """What cannot be read was not measured."""
    (runs[1] / "run/evaluate" / damage).write_text('{"rows": [')
    assert call("compare", *runs[:2]).code == 0


def test_without_numpy(call: Call, runs: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence says what to install."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    result = call("compare", *runs[:2])
    assert result.code == 3
    assert "pip install numpy" in result.err


def test_bad_calls(call: Call, tmp_path: Path, runs: tuple[Path, ...]) -> None:
    """One bundle, the same bundle twice, and a folder that is not a bundle."""
    assert call("compare", runs[0]).code == 2
    twice = call("compare", runs[0], runs[0] / ".." / runs[0].name)
    assert (twice.code, "given twice" in twice.err) == (2, True)
    assert call("compare", runs[0], tmp_path).code == 3
