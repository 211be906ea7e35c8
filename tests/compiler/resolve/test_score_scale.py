"""Scores on another scale than 0 to 1 are refused, and so are ratings in place of verdicts."""

from pathlib import Path
from typing import Any

import pytest

from tests.compiler.resolve.resolving import known, unknown

EMBED = {"data": "data.csv", "objective": {"type": "embed"}}


def write(folder: Path, scores: list[str]) -> None:
    """Write pairs of texts with these scores."""
    rows = [f"text {n} of many,another text {n},{score}" for n, score in enumerate(scores)]
    (folder / "data.csv").write_text("\n".join(["text1,text2,score", *rows]), encoding="utf-8")


@pytest.mark.parametrize(
    ("scores", "seen", "help_"),
    [
        (["0.0", "0.4", "1.0", "2.5", "5.0"], "from 0 to 5", "divide each score by 5"),
        (["0", "3", "47", "98"], "from 0 to 98", "divide each score by 100"),
        (["-1", "0", "1"], "from -1 to 1", "add 1 to each score, then divide it by 2"),
        (["-0.94", "0.1", "0.9"], "from -0.94 to 0.9", "add 1 to each score, then divide it by 2"),
        (["1", "2", "5"], "from 1 to 5", "subtract 1 from each score, then divide it by 4"),
    ],
)
def test_another_scale_is_one_error(
    make_spec: Any, tmp_path: Path, scores: list[str], seen: str, help_: str
) -> None:
    """Rows that happen to lie in 0 to 1 would be learned as something else."""
    write(tmp_path, scores * 10)
    finding = unknown(make_spec(**EMBED), tmp_path)
    assert (finding.code, finding.severity) == ("FTC204", "error")
    assert seen in finding.message
    assert finding.help == help_


def test_stray_scores_are_left_out(make_spec: Any, tmp_path: Path) -> None:
    """One mistake among many rows is no scale."""
    write(tmp_path, ["0.1", "0.9"] * 20 + ["7"])
    assert known(make_spec(**EMBED), tmp_path).faults == {"no_score": 1}


@pytest.mark.parametrize("scores", [["high", "low"], ["0,5", "0,9"]])
def test_words_are_not_to_be_divided(make_spec: Any, tmp_path: Path, scores: list[str]) -> None:
    """Scores that are not numbers have a help of their own."""
    write(tmp_path, [f'"{score}"' for score in scores] * 20)
    finding = unknown(make_spec(**EMBED), tmp_path)
    assert finding.code == "FTC204"
    assert "divide" not in finding.help
    assert "decimal point" in finding.help


RATED = {"data": "data.csv", "objective": "kto"}


def write_rated(folder: Path, labels: list[str]) -> None:
    """Write rated answers with these labels."""
    rows = [f"question {n} of many,answer {n},{label}" for n, label in enumerate(labels)]
    text = "\n".join(["prompt,completion,label", *rows])
    (folder / "data.csv").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("labels", "seen"),
    [
        (["1", "2", "3", "4", "5"], "from 1 to 5"),
        (["0", "1", "2", "3"], "from 0 to 3"),
        (["0.0", "0.5", "1.0"], "from 0 to 1"),
        (["1", "10", "7.5"], "from 1 to 10"),
    ],
)
def test_ratings_are_one_error(
    make_spec: Any, tmp_path: Path, labels: list[str], seen: str
) -> None:
    """The worst of five stars is 1, which would be learned as a good answer."""
    write_rated(tmp_path, labels * 10)
    finding = unknown(make_spec(**RATED), tmp_path)
    assert (finding.code, finding.severity) == ("FTC204", "error")
    assert seen in finding.message
    assert "`true`" in finding.help


@pytest.mark.parametrize("labels", [["1", "0"], ["1", "0", "-1"], ["1.0", "0.0"], ["yes", "no"]])
def test_verdicts_are_no_ratings(make_spec: Any, tmp_path: Path, labels: list[str]) -> None:
    """Numbers that stand for good and bad are read, and a stray one among them is left out."""
    write_rated(tmp_path, [*labels * 30, "4"])
    facts = known(make_spec(**RATED), tmp_path)
    assert facts.faults == {"no_label": 1}
