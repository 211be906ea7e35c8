"""The tape of a training step, and the plan's reserve compared with its replay."""

import pytest

from benchmarks.fragmentation import METHODS, Method, planned_jobs, replay_job
from benchmarks.tape import read_layer, replay
from ftc.compiler.plan.memory.activations import layer_bytes
from ftc.compiler.plan.memory.phases import phases

pytestmark = pytest.mark.prove_all

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


@pytest.mark.parametrize("full", [False, True])
def test_the_plans_bound_covers_what_the_replay_reserves(full: bool) -> None:
    """Nine of ten runs with room, all on a full device; `benchmarks.fragmentation` prints more."""
    runs = [
        run
        for method in METHODS
        for job in planned_jobs(method, every=2 * EVERY)
        if (run := replay_job(job, fitting=False, full=full)) is not None
    ]
    covered = sum(run.bound_bytes >= run.beyond_bytes for run in runs)
    assert covered >= (1 if full else 0.9) * len(runs)
    assert len(runs) > 20
