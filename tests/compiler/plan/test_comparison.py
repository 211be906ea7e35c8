"""The decisions for compared answers: beta, reference, weights, rate and passes."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.schedule.learning_rate import decide_learning_rate
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
DPO = {"/spec/objective/type": "dpo"}
KTO = {"/spec/objective/type": "kto"}
ORPO = {"/spec/objective/type": "orpo"}
FULL = {"/spec/method/type": "full", "/spec/hardware/count": 8}


def plan_of(build_known: BuildKnown, edits: Mapping[str, Any]) -> Plan:
    """Return the plan of the base with some edits."""
    return make_plan(*build_known(edits))


@pytest.mark.parametrize(
    ("edits", "beta"),
    [
        (DPO, 0.1),
        ({**DPO, "/spec/objective/loss": "sigmoid_norm"}, 5.0),
        ({**DPO, "/spec/objective/beta": 0.3}, 0.3),
        (KTO, 0.1),
        (ORPO, 0.1),
    ],
)
def test_beta(build_known: BuildKnown, edits: Mapping[str, Any], beta: float) -> None:
    """A tenth, more per token, and what the spec says."""
    decided = plan_of(build_known, edits).decisions.comparison.beta
    assert decided is not None
    assert decided.value == beta


def test_what_an_objective_does_not_read_is_not_decided(build_known: BuildKnown) -> None:
    """Supervised fine-tuning has no beta, ORPO no reference, DPO no weights."""
    sft, orpo, dpo = (plan_of(build_known, edits).decisions for edits in ({}, ORPO, DPO))
    assert sft.comparison.beta is None
    assert sft.comparison.reference is None
    assert orpo.comparison.reference is None
    assert dpo.comparison.desirable_weight is None
    assert dpo.comparison.pair_smoothing is None


@pytest.mark.parametrize(
    ("rows", "said", "expected"),
    [
        ((800, 200), {}, (1.0, 4.0)),
        ((200, 800), {}, (4.0, 1.0)),
        ((500, 500), {}, (1.0, 1.0)),
        ((800, 200), {"/spec/objective/desirable_weight": 2.0}, (2.0, 8.0)),
        ((0, 800), {}, (1.0, 1.0)),
    ],
)
def test_the_rarer_kind_is_weighed_up(
    build_known: BuildKnown,
    rows: tuple[int, int],
    said: Mapping[str, Any],
    expected: tuple[float, float],
) -> None:
    """Both kinds pull as hard, taken together; a weight that is said is kept."""
    found = {"desirable_rows": rows[0], "undesirable_rows": rows[1]}
    decided = plan_of(build_known, {**KTO, **said, "/facts/data/feedback": found}).decisions
    assert decided.comparison.desirable_weight is not None
    assert decided.comparison.undesirable_weight is not None
    assert (
        decided.comparison.desirable_weight.value,
        decided.comparison.undesirable_weight.value,
    ) == expected


@pytest.mark.parametrize(
    ("edits", "rate"),
    [(DPO, 5e-6), (KTO, 5e-6), (ORPO, 8e-5), ({**DPO, **FULL}, 5e-7), ({**ORPO, **FULL}, 8e-6)],
)
def test_rates_are_those_of_the_recipes(
    build_known: BuildKnown, edits: Mapping[str, Any], rate: float
) -> None:
    """Zephyr's for a model held to a reference, TRL's for ORPO; this base has 7.6 billion."""
    assert plan_of(build_known, edits).decisions.training.learning_rate.value == rate


@pytest.mark.parametrize("objective", ["dpo", "kto", "orpo", "cpo", "simpo", "grpo", "reward"])
@pytest.mark.parametrize("method", ["full", "lora"])
def test_every_rate_falls_with_the_size(
    build_known: BuildKnown, objective: str, method: str
) -> None:
    """By size^0.4 up to 70B, to one digit, and the reason names the size."""
    decided = []
    for parameters in (500_000_000, 7_000_000_000, 70_000_000_000):
        edits = {"/spec/objective/type": objective, "/spec/method/type": method}
        spec, facts = build_known({**edits, "/facts/model/parameters": parameters})
        decided.append(decide_learning_rate(spec, facts.model))
        assert decided[-1].because.values["parameters"] == parameters
    small, middle, large = (decision.value for decision in decided)
    assert small > middle
    assert middle / large == pytest.approx(10**0.4, rel=0.3)


def test_the_reference_is_asked_of_the_rows_that_are_read(build_known: BuildKnown) -> None:
    """Three steps of a batch cost less before training than an epoch does."""
    some, all_rows = (
        plan_of(build_known, {**DPO, "/spec/training/max_steps": steps}) for steps in (3, 5000)
    )
    assert some.time is not None
    assert all_rows.time is not None
    assert some.time.loading_seconds < all_rows.time.loading_seconds


def test_dropout_is_off_where_the_trainer_switches_it_off(build_known: BuildKnown) -> None:
    """What the script says is what happens."""
    decided = plan_of(build_known, DPO).decisions.lora.lora_dropout
    assert decided is not None
    assert decided.value == 0


def test_a_copy_takes_memory_and_what_is_precomputed_none(build_known: BuildKnown) -> None:
    """The plan counts a second model only where one is loaded."""
    job = {**DPO, **FULL, "/spec/distribution/strategy": "ddp", "/spec/training/micro_batch": 1}
    copied, computed = (
        plan_of(build_known, {**job, "/spec/objective/reference": reference})
        for reference in ("copy", "precomputed")
    )
    weights = 2 * 7_615_616_512
    assert copied.memory.allocated_bytes - computed.memory.allocated_bytes >= weights


def test_kto_takes_two_rows_at_least(build_known: BuildKnown) -> None:
    """On every line of the ladder, and where many processes share few rows."""
    few = {**KTO, "/facts/data/usable_rows": 200, "/spec/hardware/count": 8}
    for edits in (KTO, few):
        plan = plan_of(build_known, edits)
        assert plan.decisions.batch.micro_batch.value >= 2
        assert min(micro for micro, _ in plan.ladder) >= 2


def test_a_precomputed_reference_costs_one_pass_and_saves_many(build_known: BuildKnown) -> None:
    """It takes time before training, and less of it at every step and evaluation."""
    plans = [
        plan_of(build_known, {**DPO, "/spec/objective/reference": reference})
        for reference in ("precomputed", "adapter_off")
    ]
    times = [plan.time for plan in plans]
    assert times[0] is not None
    assert times[1] is not None
    assert times[0].loading_seconds > times[1].loading_seconds
    assert times[0].training_seconds < times[1].training_seconds
    assert times[0].total_seconds < times[1].total_seconds


def test_both_texts_of_a_pair_are_counted(build_known: BuildKnown) -> None:
    """In the tokens of a step, and in those of a second."""
    global_batch = {"/spec/training/global_batch": 16}
    pairs = plan_of(build_known, {**DPO, **global_batch})
    rows = plan_of(build_known, {**KTO, **global_batch})
    assert pairs.tokens_per_step == pytest.approx(2 * rows.tokens_per_step, abs=1)
    assert pairs.time is not None
    per_step = pairs.time.training_seconds / pairs.decisions.training.total_steps.value
    assert pairs.time.tokens_per_second * per_step == pytest.approx(pairs.tokens_per_step, rel=0.01)
