"""Each objective learns something of real data that can be told from chance on rows held out.

What is run, against what it is held and by which margin stands in `benchmarks/learning.py`.
"""

from pathlib import Path

import pytest

from benchmarks import distillation
from benchmarks.learning import (
    PROVEN,
    learn,
    rank_share,
    report,
    unigram_perplexity,
    write_encoders,
    write_inputs,
)
from benchmarks.learning_specs import SPECS
from ftc.compiler.knowledge.objectives import OBJECTIVES

#: Proven on real data elsewhere: GSM8K in test_gsm8k.py and by `benchmarks.distillation` below,
#: banking77 in test_scores.py.
ELSEWHERE = {"sft", *distillation.TAUGHT, "classification"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, shared: Path, sdist: Path) -> Path:
    """Return a folder with the model and the rows of every run."""
    folder = tmp_path_factory.mktemp("learning")
    write_inputs(folder, shared / "data")
    write_encoders(folder, sdist)
    return folder


@pytest.mark.prove_all
@pytest.mark.timeout(7200)  # of `embed`, which tries three settings first
@pytest.mark.parametrize("objective", PROVEN)
def test_an_objective_learns(folder: Path, objective: str) -> None:
    """The loss falls, and the metric beats its baseline by more than chance explains."""
    learned = learn(folder, objective)

    assert learned.is_proven, learned
    assert f"| {objective} |" in report([learned])


@pytest.mark.prove_all
@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("shared")
def test_a_student_comes_closer_to_its_teacher(tmp_path: Path) -> None:
    """On real rows held out, nearer than its start and than plain SFT for as many steps."""
    distillation.write_inputs(tmp_path)
    found = distillation.compare(tmp_path)
    divergences = {name: measured["divergence"] for name, measured in found.items()}

    assert divergences["sft-42"] < divergences["start"]
    for name in distillation.TAUGHT:
        assert divergences[f"{name}-42"] < divergences["sft-42"]


def test_no_objective_is_left_out() -> None:
    """Whatever can be trained has a run that shows that it learns."""
    said = [SPECS[name]["objective"] for name in PROVEN]
    trained = {each if isinstance(each, str) else each["type"] for each in said}
    assert trained | ELSEWHERE == set(OBJECTIVES)


def test_tokens_guessed_by_how_common_they_are() -> None:
    """Two tokens seen equally often are a coin, whatever else a vocabulary has."""
    train = [[1, 2] * 50_000]
    assert unigram_perplexity(train, [[1, 2, 1, 2]]) == pytest.approx(2, rel=0.02)
    assert unigram_perplexity(train, [[1, 3]]) > 50_000


def test_a_rank_share_counts_every_pair() -> None:
    """Of four pairs two are in order, and one is equal on both sides."""
    assert rank_share([3, 1], [1, 2]) == 2.5 / 4
    assert rank_share([1], [1]) == 0.5
