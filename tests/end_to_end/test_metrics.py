"""The best checkpoint by its answers: a real run that writes them at every evaluation."""

from pathlib import Path

import pytest

from tests.end_to_end.conftest import SETTINGS, write_table
from tests.end_to_end.process import compile_spec, read_json, read_rows, run

pytestmark = pytest.mark.prove


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

    ended = run("./run.sh", cwd=bundle, extra={"FTC_LLAMA_CPP_SDIST": str(sdist)})

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
