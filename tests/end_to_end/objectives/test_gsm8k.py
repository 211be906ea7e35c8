"""Real questions and answers through a whole bundle, to quantized files held to their bounds."""

from pathlib import Path

import pytest

from benchmarks.gsm8k import Run, report, run_whole


def hold(run: Run) -> None:
    """Check the table: F16 is the model but for rounding, the others as near as their type goes."""
    files = {entry["type"]: entry for entry in run.read("quantize/quality.json")["files"]}
    assert list(files) == ["F16", "Q8_0", "Q4_K_M"]
    assert files["F16"]["divergence"] < 1e-4
    losses = [entry["divergence"] for entry in files.values()]
    assert losses == sorted(losses)
    sizes = [entry["bytes"] for entry in files.values()]
    assert sizes == sorted(sizes, reverse=True)
    for entry in files.values():
        assert entry["fault"] is None
        assert entry["divergence"] <= entry["bounds"]["max_divergence"]
        assert entry["answers"]


@pytest.mark.prove
def test_a_few_hundred_questions(tmp_path: Path, shared: Path, sdist: Path) -> None:
    """The short version: few steps, every stage, and the page that the long one writes."""
    assert sdist.is_file()
    run = run_whole(tmp_path / "run", shared / "data" / "gsm8k_train.jsonl", rows=240)
    assert run.code == 0, run.said[-3000:]
    hold(run)
    assert "| Q4_K_M |" in report(run)


@pytest.mark.prove_all
@pytest.mark.timeout(3600)
def test_the_whole_of_it(tmp_path: Path, shared: Path, sdist: Path) -> None:
    """All 7,473 rows for an epoch: the loss falls by half, and every file is the trained model."""
    assert sdist.is_file()
    run = run_whole(tmp_path / "run", shared / "data" / "gsm8k_train.jsonl")
    assert run.code == 0, run.said[-3000:]
    hold(run)
    assert sum(run.read("data/report.json")["splits"].values()) > 7_400
    curve = run.read("train/curve.json")["train"]
    assert curve[-1][1] < curve[0][1] / 2
