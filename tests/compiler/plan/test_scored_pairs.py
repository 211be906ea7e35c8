"""Scored pairs: their loss compares those of one pass, so passes are as large as possible."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.facts import Facts, known
from ftc.spec.sections import Spec

Build = Callable[[Mapping[str, Any]], tuple[Spec, Facts]]


def plan(build: Build, *, memory_gib: int = 80, form: str = "scored", **edits: Any) -> Plan:
    """Return the plan of an embedding model on a GPU with this memory."""
    changes = {f"/spec/{name.replace('__', '/')}": value for name, value in edits.items()}
    spec, facts = build({"/spec/objective/type": "embed", "/facts/data/form": form, **changes})
    every = known(facts)
    assert every is not None
    hardware = replace(every.hardware, memory_bytes=memory_gib * 2**30)
    return make_plan(spec, replace(every, hardware=hardware))


def test_all_pairs_of_a_step_are_compared_at_once(build: Build) -> None:
    """Also where smaller passes would be faster; the evaluation compares as many."""
    decided = plan(build).decisions
    assert decided.batch.accumulation.value == 1
    assert decided.batch.micro_batch.because.key == "micro_batch.pairs"
    assert decided.batch.eval_batch.value == decided.batch.micro_batch.value == 32
    assert decided.batch.global_batch.because.key == "global_batch.paired"
    assert decided.evaluation.metric.because.key == "metric.correlation"


def test_a_small_gpu_divides_them_and_says_so(build: Build) -> None:
    """The largest micro-batch that leaves memory free."""
    found = next(
        made
        for gib in range(4, 24)
        if (made := plan(build, memory_gib=gib)).memory.fits
        and made.decisions.batch.micro_batch.because.key == "micro_batch.pairs.part"
    )
    assert found.decisions.batch.accumulation.value > 1
    assert found.decisions.batch.accumulation.because.key == "accumulation.pairs"


def test_a_loss_within_a_pass_has_no_first_pass(build: Build) -> None:
    """GradCache compares the rows of a step in several passes, CoSENT the pairs of one."""
    assert "extra_pass" not in plan(build).memory.phases
    assert "extra_pass" in plan(build, form="prompt_completion").memory.phases


@pytest.mark.parametrize("objective", ["embed", "rerank"])
def test_compared_texts_have_no_labels_and_no_answers(build: Build, objective: str) -> None:
    """Scores repeat, as labels do."""
    decided = plan(build, objective__type=objective).decisions
    assert decided.answer_tokens is None
    assert not decided.splits.stratify.value
    assert decided.splits.stratify.because.key == "stratify.texts"
