"""The regression gate: a model that loses what it was not trained for does not pass evaluate.py."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.end_to_end.process import compile_spec, read_json, run

pytestmark = pytest.mark.prove
STEPS = 12
TASK = {
    "task": "kept",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "questions.jsonl"}},
    "test_split": "test",
    "output_type": "multiple_choice",
    "doc_to_text": "{{prompt}}",
    "doc_to_choice": ["cancel", "refund"],
    "doc_to_target": 0,
    "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
}


def write_rows(path: Path, numbers: range, word: str) -> None:
    """Write numbered prompts with one answer, but for every tenth."""
    answers = {n: word if n % 10 else "lost" for n in numbers}
    rows = [{"prompt": f"parcel {n} of the order", "answer": said} for n, said in answers.items()]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def make_spec(name: str, model: str, data: str, rate: float) -> dict[str, Any]:
    """Return a spec of a short full fine-tune without validation."""
    return {
        "name": name,
        "model": model,
        "data": {"source": data, "splits": {"test": 0.1, "validation": 0}},
        "hardware": "cpu",
        "method": "full",
        "training": {"max_steps": STEPS, "global_batch": 8, "warmup": 0, "learning_rate": rate},
    }


def test_what_was_learned_first_must_be_kept(tmp_path: Path, model: Path) -> None:
    """Trained on other answers at a high rate, the model fails; at a tiny rate it passes."""
    (tmp_path / "model").symlink_to(model)
    write_rows(tmp_path / "first.jsonl", range(80), "cancel")
    write_rows(tmp_path / "second.jsonl", range(80), "refund")
    write_rows(tmp_path / "kept.jsonl", range(71, 90), "cancel")
    write_rows(tmp_path / "questions.jsonl", range(101, 110), "cancel")
    (tmp_path / "kept.yaml").write_text(yaml.safe_dump(TASK))
    (tmp_path / "kept.txt").write_text("the order of the parcel is cancel cancel\n" * 60)
    checks = [{"prompts": "kept.jsonl"}, {"text": "kept.txt"}, {"task": "kept.yaml"}]
    first = compile_spec(tmp_path, make_spec("first", "./model", "first.jsonl", 0.005))
    specs = [make_spec("spoiled", "first", "second.jsonl", 0.01)]
    specs.append(make_spec("harmless", "first", "second.jsonl", 1e-9))
    todo = [f"{first}/prepare.py", f"{first}/train.py", f"{first}/export.py:--merge"]
    learned = run(sys.executable, "-m", "tests.end_to_end.run_stages", *todo, cwd=Path.cwd())
    assert learned.code == 0, learned.said
    bundles = []
    for spec in specs:
        spec["training"]["evaluation"] = {"regression": checks}
        bundles.append(compile_spec(tmp_path, spec))
    todo = [
        f"{bundle}/{stage}"
        for bundle in bundles
        for stage in ("prepare.py", "train.py", "export.py:--merge")
    ]
    trained = run(sys.executable, "-m", "tests.end_to_end.run_stages", *todo, cwd=Path.cwd())
    assert trained.code == 0, trained.said

    spoiled, harmless = (run(sys.executable, "evaluate.py", cwd=bundle) for bundle in bundles)
    again = run(sys.executable, "evaluate.py", cwd=bundles[0])

    assert harmless.code == 0, harmless.said
    assert spoiled.code == again.code == 1, spoiled.said
    assert "the trained model lost too much on kept.jsonl: exact match went from" in spoiled.err
    assert "Traceback" not in spoiled.err
    assert "evaluate: already done" in again.out
    found = read_json(bundles[0] / "run/evaluate/regression.json")["checks"]
    answered, text, task = found
    assert answered["before"] > 0.8
    assert answered["after"] < 0.2
    assert text["interval"][0] > text["max_drop"]
    assert task["measure"] == "acc"
    assert task["rows"] == 9
    # 71 to 79 are in the data, but for those of the test split
    assert 0 < answered["overlap"]["overlapping"] <= 9
    assert "## What it was not trained for" in (bundles[0] / "run/report.md").read_text()
    kept = read_json(bundles[1] / "run/evaluate/regression.json")["checks"]
    assert [check["fault"] for check in kept] == [None, None, None]
