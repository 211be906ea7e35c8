"""A plan that is scaled by what a pilot measured."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ftc.compiler.knowledge.hardware.accelerators import all_accelerators
from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_plan, plan_once
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.plan.summary.devices import on_device, with_count
from ftc.compiler.resolve.facts import Calibration, KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
FIXED = {"/spec/training/micro_batch": 2, "/spec/training/global_batch": 8}
CPU = {
    "/facts/hardware/kind": "cpu",
    "/facts/hardware/name": "cpu",
    "/facts/hardware/memory_bytes": 0,
    "/facts/hardware/host_ram_bytes": 2**38,
    "/facts/hardware/cores": 8,
}


def calibrate(
    built: tuple[Spec, KnownFacts], memory: float, time: float | None
) -> tuple[Spec, KnownFacts]:
    """Return spec and facts with what a pilot measured."""
    spec, facts = built
    found = Calibration(memory=memory, time=time, sha256="0" * 64)
    return spec, replace(facts, hardware=replace(facts.hardware, calibration=found))


def margin(plan: Plan) -> int:
    """Return the part of the planned memory that is only there for safety."""
    return plan.memory.margin_bytes


@pytest.mark.parametrize("factor", [0.6, 1.3])
def test_memory_and_time_are_scaled(build_known: BuildKnown, factor: float) -> None:
    """Each phase, and whatever is computed; what the disk takes stays."""
    built = build_known({**FIXED, "/spec/training/gradient_checkpointing": True})
    before, after = plan_once(*built), plan_once(*calibrate(built, factor, 1.5))
    assert before.time is not None
    assert after.time is not None

    assert after.memory.allocated_bytes == pytest.approx(factor * before.memory.allocated_bytes)
    for phase, size in before.memory.phases.items():
        assert after.memory.phases[phase] == pytest.approx(factor * size)
    assert margin(after) >= 0.02 * after.memory.allocated_bytes - 1
    context = before.memory.device_bytes - before.memory.reserved_bytes
    assert after.memory.device_bytes - after.memory.reserved_bytes == context
    assert after.time.training_seconds == pytest.approx(
        1.5 * before.time.training_seconds, rel=0.01
    )
    assert after.time.evaluation_seconds == pytest.approx(
        1.5 * before.time.evaluation_seconds, rel=0.01, abs=0.1
    )
    assert after.time.saving_seconds == before.time.saving_seconds
    assert after.time.tokens_per_second == pytest.approx(
        before.time.tokens_per_second / 1.5, rel=0.01
    )


def test_a_cpu_process_is_scaled_as_a_whole(build_known: BuildKnown) -> None:
    """Its libraries are part of what was measured; the margin is added."""
    built = build_known({**FIXED, **CPU})
    before, after = plan_once(*built), plan_once(*calibrate(built, 0.5, 1.0))
    measured = before.memory.device_bytes - margin(before)
    assert after.memory.device_bytes == pytest.approx(0.5 * measured + margin(after))


def test_the_plan_says_what_was_measured(build_known: BuildKnown) -> None:
    """A decision with both factors, and none without a pilot."""
    built = build_known(FIXED)
    assert plan_once(*built).decisions.distribution.calibration is None
    found = plan_once(*calibrate(built, 0.93, 1.4)).decisions.distribution.calibration
    assert found is not None
    assert (found.value, found.source) == ({"memory": 0.93, "time": 1.4}, "derived")
    assert "memory x 0.93, time x 1.4" in sentence(found.because)
    alone = plan_once(*calibrate(built, 0.93, None)).decisions.distribution.calibration
    assert alone is not None
    assert alone.value == {"memory": 0.93}
    assert "time" not in sentence(alone.because)


def test_more_memory_than_planned_does_not_fit(build_known: BuildKnown) -> None:
    """What barely fits by the plan alone is refused after a pilot that needed twice as much."""
    built = build_known(FIXED)
    size = plan_once(*built).memory.device_bytes
    tight = build_known({**FIXED, "/facts/hardware/memory_bytes": round(1.2 * size)})
    assert make_plan(*tight).memory.fits
    assert not plan_once(*calibrate(tight, 2.0, 1.0)).memory.fits


def test_other_hardware_is_not_calibrated(build_known: BuildKnown) -> None:
    """What was measured on one machine says nothing of another."""
    _, facts = calibrate(build_known(FIXED), 2.0, 2.0)
    other = next(iter(all_accelerators()))
    assert on_device(facts, other).hardware.calibration is None
    assert with_count(facts, 4).hardware.calibration is None


def test_each_line_of_the_ladder_has_its_numbers(build_known: BuildKnown) -> None:
    """The first is the plan's own; smaller micro-batches need less memory."""
    edits = {"/spec/training/micro_batch": 8, "/spec/training/global_batch": 8}
    plan = plan_once(*build_known(edits))
    rungs = plan.rungs
    assert plan.time is not None
    assert [(rung.micro, rung.accumulation) for rung in rungs] == list(plan.ladder)
    assert rungs[0].allocated_bytes == plan.memory.allocated_bytes
    assert rungs[0].memory_bytes == plan.memory.reserved_bytes
    assert rungs[0].margin_bytes == margin(plan)
    step = plan.time.training_seconds / plan.decisions.training.total_steps.value
    assert rungs[0].step_seconds == pytest.approx(step, rel=0.01)
    sizes = [rung.memory_bytes for rung in rungs]
    assert len(sizes) > 2
    assert sizes == sorted(sizes, reverse=True)
