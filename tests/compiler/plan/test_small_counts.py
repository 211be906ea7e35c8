"""Reasons in very short runs: they mention a share of less than one step or one row."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import pytest

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]


@pytest.mark.parametrize(
    ("edits", "decision", "said"),
    [
        (
            {"/spec/training/max_steps": 2},
            "training.warmup_steps",
            "the fewest, because 3% of 2 steps is less than one step",
        ),
        ({"/spec/training/max_steps": 100}, "training.warmup_steps", "3% of 100 steps"),
        (
            {"/spec/training/max_steps": 2, "/spec/training/warmup": 0},
            "training.warmup_steps",
            "0% of 2 steps",
        ),
        (
            {"/spec/training/max_steps": 1},
            "training.warmup_steps",
            "a warm-up begins at a rate of zero, and the run has only one step",
        ),
        (
            {
                "/spec/training/max_steps": 4,
                "/spec/training/schedule": "warmup_stable_decay",
                "/spec/training/decay": 0.2,
            },
            "training.decay_steps",
            "the fewest, because 20% of 4 steps is less than one step",
        ),
        (
            {"/facts/data/rows": 4, "/facts/data/usable_rows": 4},
            "splits.test_rows",
            "the fewest, because 10% of 4 used rows is less than one row",
        ),
    ],
)
def test_a_share_of_few(
    edits: Mapping[str, Any], decision: str, said: str, build_known: BuildKnown
) -> None:
    """Other shares are said as they are."""
    plan = make_plan(*build_known(edits))
    found = attrgetter(decision)(plan.decisions)
    assert sentence(found.because) == said
