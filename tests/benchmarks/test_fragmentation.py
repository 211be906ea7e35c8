"""The tape of a training step, and the plan's reserve compared with its replay."""

import pytest

from benchmarks.fragmentation import METHODS, Method, planned_jobs, replay_job
from benchmarks.tape import read_layer, replay
from ftc.compiler.plan.memory.activations import layer_bytes
from ftc.compiler.plan.memory.phases import phases

EVERY = 50  # models of the table


@pytest.mark.parametrize("method", METHODS)
def test_a_layers_tape_keeps_what_the_plan_says(method: Method) -> None:
    """Tensor by tensor."""
    for job in planned_jobs(method, every=EVERY):
        kept = sum(tensor.size for tensor in read_layer(job) if tensor.kept)
        assert kept == layer_bytes(job) * job.tokens


@pytest.mark.parametrize("method", METHODS)
def test_the_tapes_peak_is_the_plans(method: Method) -> None:
    """Two models of the same step agree: the formulas, and the sequence of allocations.

    A full fine-tune's differ by autocast's copies of weights, which the tape does not have.
    """
    for job in planned_jobs(method, every=EVERY):
        heap = replay(job, expandable=True)
        said = max(phases(job).values())
        assert heap.most_taken_bytes == pytest.approx(said, rel=0.15 if job.full else 0.06)


def test_the_plan_reserves_what_the_replay_does() -> None:
    """At least nine of ten runs; `python -m benchmarks.fragmentation` prints all."""
    runs = [
        run
        for method in METHODS
        for job in planned_jobs(method, every=EVERY)
        if (run := replay_job(method, job)) is not None
    ]
    covered = sum(run.planned_bytes >= run.beyond_bytes for run in runs)
    assert covered >= 0.9 * len(runs)
    assert len(runs) > 50
