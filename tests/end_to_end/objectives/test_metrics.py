"""The best checkpoint by its answers: a real run that writes them at every evaluation."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.end_to_end.conftest import SETTINGS, write_table
from tests.end_to_end.process import compile_spec, read_json, read_rows, run, run_together

pytestmark = pytest.mark.prove
TASK = {
    "task": "parcels",
    "dataset_path": "json",
    "test_split": "test",
    "output_type": "multiple_choice",
    "doc_to_text": "{{question}}",
    "doc_to_choice": "{{choices}}",
    "doc_to_target": "answer",
    "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
}


def test_the_checkpoint_with_the_best_answers_is_kept(
    tmp_path: Path, model: Path, tickets: list[list[str]], sdist: Path
) -> None:
    """Answers get better, and the test split, the file and the report are judged by the metric."""
    (tmp_path / "model").symlink_to(model)
    write_table(tmp_path / "tickets.csv", tickets)
    evaluation = {
        "every_steps": 15,
        "metric": "macro_f1",
        "best_by": "metric",
        "answered_rows": 48,
    }
    spec = {
        "name": "triage",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "cpu",
        "method": "full",
        "training": {**SETTINGS, "max_steps": 45, "evaluation": evaluation},
        "export": ["Q8_0"],
    }
    bundle = compile_spec(tmp_path, spec)

    ended = run_together(bundle, sdist=sdist)

    assert ended.code == 0, ended.said
    states = (bundle / "run/train/checkpoints").glob("*/trainer_state.json")
    state = max(map(read_json, states), key=lambda state: state["global_step"])
    measured = {
        log["step"]: log["eval_macro_f1"] for log in state["log_history"] if "eval_macro_f1" in log
    }
    curve = read_json(bundle / "run/train/curve.json")
    assert len(measured) >= 2
    assert measured[curve["best_step"]] == max(measured.values())
    report = read_json(bundle / "run/evaluate/report.json")
    assert report["macro_f1"] > report["chance"]
    assert len(read_rows(bundle / "run/evaluate/predictions.jsonl")) == report["rows"]
    (entry,) = read_json(bundle / "run/quantize/quality.json")["files"]
    assert entry["metric_drop"] == entry["trained_macro_f1"] - entry["macro_f1"]


def test_the_harness_asks_a_task(tmp_path: Path, model: Path, tickets: list[list[str]]) -> None:
    """A task file of the user's own is asked of the model, and its numbers are written down."""
    (tmp_path / "model").symlink_to(model)
    write_table(tmp_path / "tickets.csv", tickets)
    spec = {
        "name": "judged",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "cpu",
        "training": {"evaluation": {"harness": ["parcels"]}},
    }
    bundle = compile_spec(tmp_path, spec)
    choices = ["on the shelf", "lost"]
    questions = [
        {"question": f"parcel {n}?", "choices": choices, "answer": n % 2} for n in range(6)
    ]
    (tmp_path / "questions.jsonl").write_text("".join(f"{json.dumps(q)}\n" for q in questions))
    (tmp_path / "tasks").mkdir()
    data = {"dataset_kwargs": {"data_files": {"test": str(tmp_path / "questions.jsonl")}}}
    (tmp_path / "tasks/parcels.yaml").write_text(yaml.safe_dump({**TASK, **data}))

    shutil.copytree(model, bundle / "run/merged")
    unknown = run("python", "harness.py", cwd=bundle)
    asked = run("python", "harness.py", "--include", tmp_path / "tasks", cwd=bundle)

    assert "the harness has no task parcels" in unknown.err
    assert asked.code == 0, asked.said
    report = read_json(bundle / "run/harness/report.json")
    assert 0 <= report["tasks"]["parcels"]["acc,none"] <= 1
