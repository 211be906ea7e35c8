"""The plan of continued pretraining: a high rank, and large steps where there is enough text."""

import pytest

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.reasons import sentence
from tests.compiler.conftest import BuildKnown

TEXT = {"/spec/objective/type": "cpt", "/facts/data/form": "text", "/facts/data/labels": []}


@pytest.mark.parametrize("count", [1, 2, 8])
@pytest.mark.parametrize("length", [300, 1664, 9000])
def test_a_step_of_text_has_100_000_tokens(
    build_known: BuildKnown, length: int, count: int
) -> None:
    """By accumulation, whatever the lengths and the number of GPUs; the reason says so."""
    plan = make_plan(
        *build_known(
            {
                **TEXT,
                **{f"/facts/data/lengths/{name}": length for name in ("mean", "p50", "p99", "max")},
                "/facts/data/lengths/histogram": [[length, 40_000]],
                "/facts/data/usable_rows": 40_000,
                "/facts/hardware/count": count,
            }
        )
    )

    assert 100_000 <= plan.tokens_per_step <= 300_000
    assert plan.decisions.batch.accumulation.value > 1
    assert "tokens a step" in sentence(plan.decisions.batch.global_batch.because)


def test_little_text_still_has_32_steps(build_known: BuildKnown) -> None:
    """400 pieces of 1,664 tokens: steps of about 20,000 tokens."""
    names = ("mean", "p50", "p99", "max")
    plan = make_plan(
        *build_known(
            {
                **TEXT,
                **{f"/facts/data/lengths/{name}": 1664 for name in names},
                "/facts/data/lengths/histogram": [[1664, 400]],
                "/facts/data/usable_rows": 400,
            }
        )
    )

    assert plan.decisions.batch.global_batch.value > 4
    assert 20 <= plan.decisions.training.total_steps.value <= 64


def test_text_takes_a_high_rank(build_known: BuildKnown) -> None:
    """Rank 64 for text and 16 for answers; the spec's number wins."""
    rank = make_plan(*build_known(TEXT)).decisions.lora.lora_rank
    assert rank is not None
    assert rank.value == 64
    assert "text" in sentence(rank.because)
    said = make_plan(*build_known({**TEXT, "/spec/method/rank": 8})).decisions.lora.lora_rank
    assert said is not None
    assert said.value == 8
