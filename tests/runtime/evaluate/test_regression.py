"""When a regression check fails: a loss beyond its bound that noise does not explain."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.evaluate import regression
from ftc.runtime.run import Run

PROMPTS = {"kind": "prompts", "path": "sums.jsonl", "max_drop": 0.05}


def judge(before: list[float], after: list[float], **check: Any) -> dict[str, Any]:
    """Return the verdict on two models' scores."""
    scores = {"measure": "exact match", "higher": True, "percent": True}
    models = ({**scores, "values": values} for values in (before, after))
    (entry,) = regression.judge([{**PROMPTS, **check}], *([model] for model in models))
    return entry


def test_a_large_loss_fails() -> None:
    """All answers that were right are wrong."""
    entry = judge([1.0] * 40, [1.0] * 20 + [0.0] * 20)

    assert entry["lost"] == 0.5
    assert entry["fault"].startswith("exact match went from 100.0% to 50.0%, a loss of")


@pytest.mark.parametrize("lost", [0, 2, 5])
def test_what_noise_explains_passes(lost: int) -> None:
    """The loss of five answers in forty is above the bound; its interval begins below."""
    assert judge([1.0] * 40, [1.0] * (40 - lost) + [0.0] * lost, max_drop=0.05)["fault"] is None


def test_a_gain_passes() -> None:
    """A model that became better has lost nothing."""
    entry = judge([0.0] * 40, [1.0] * 40)

    assert entry["lost"] == -1
    assert entry["fault"] is None


def test_a_check_that_cannot_fail_is_named() -> None:
    """A base that answers nothing has nothing to lose."""
    entry = judge([0.0] * 40, [0.0] * 40)

    assert not entry["can_fail"]
    assert regression.state(entry).startswith("cannot fail")


def test_a_text_is_judged_by_its_perplexity() -> None:
    """Half a nat more per token is a rise by 65 %; a number that is not finite fails."""
    scores = {"measure": "perplexity", "higher": False, "percent": False, "tokens": [10] * 30}
    check = {**PROMPTS, "kind": "text"}
    before = {**scores, "values": [20.0 + n % 3 for n in range(30)]}
    after = {**scores, "values": [25.0 + n % 3 for n in range(30)]}
    broken = {**scores, "values": [float("nan")] * 30}

    (entry,) = regression.judge([check], [before], [after])
    (spoiled,) = regression.judge([check], [before], [broken])

    assert entry["lost"] == pytest.approx(0.6487, abs=1e-3)
    assert "64.9% to 64.9%" in entry["fault"]
    assert spoiled["fault"] == "the trained model computes no finite number"


def test_another_file_than_the_checked_one_is_rejected(tmp_path: Path) -> None:
    """A missing file and a changed one end the stage; a task's own files are found."""
    run = Run(tmp_path, stage="evaluate")
    task = "task: kept\ndataset_kwargs: {data_files: {test: questions.jsonl}}\n"
    (tmp_path / "kept.yaml").write_text(task)
    (tmp_path / "questions.jsonl").write_text("{}\n")
    digest = hashlib.sha256(task.encode()).hexdigest()
    check = {"kind": "task", "path": "kept.yaml", "max_drop": 0, "sha256": digest}

    names = [path.name for path in regression.list_files(run, [check])]

    assert names == ["kept.yaml", "questions.jsonl"]
    with pytest.raises(SystemExit, match="is not the file that was checked"):
        regression.list_files(run, [{**check, "sha256": "0" * 64}])
    with pytest.raises(SystemExit, match=r"other\.yaml is missing"):
        regression.list_files(run, [{**check, "path": "other.yaml"}])
