"""A sweep of two points that really train, run by its script and compared at its end."""

import json
from pathlib import Path

import pytest

from tests.end_to_end.conftest import SETTINGS, write_table
from tests.end_to_end.process import run

pytestmark = pytest.mark.prove_all


def test_two_points_are_trained_and_compared(
    tmp_path: Path, model: Path, tickets: list[list[str]]
) -> None:
    """A rate at which nothing is learned is worse, by the test rows that both answered."""
    (tmp_path / "model").symlink_to(model)
    write_table(tmp_path / "tickets.csv", tickets)
    spec = {
        "name": "swept",
        "model": "./model",
        "data": {"source": "tickets.csv", "splits": {"test": 0.1, "validation": 0.1}},
        "hardware": "cpu",
        "method": "full",
        "training": {**SETTINGS, "max_steps": 25},
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    written = run(
        *("ftc", "sweep", "spec.json", "--set", "training.learning_rate=0.002,0.0000001"),
        cwd=tmp_path,
    )
    assert written.code == 0, written.said

    ended = run(tmp_path / "sweep/run_all.sh", cwd=tmp_path)
    assert ended.code == 0, ended.said
    assert ended.out.splitlines()[-1].startswith("verdict: swept-01 is the best by ")

    compared = run(
        *("ftc", "compare", "sweep/point-01", "sweep/point-02", "--format", "json"), cwd=tmp_path
    )
    data = json.loads(compared.out)
    assert list(data["spec"]) == ["/training/learning_rate"]
    first = data["changes"][0]
    assert first["verdict"] == "worse"
    assert first["rows"] >= 20
    assert all(each["state"] == "done" for each in data["runs"])
    assert all(each["model_bytes"] and each["memory_bytes"] for each in data["runs"])
    assert all(each["seconds"]["train"] > 0 for each in data["runs"])
    assert len(data["runs"][0]["curves"]["loss"]) > 1
