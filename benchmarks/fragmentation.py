"""What PyTorch's allocator would reserve for planned runs, compared with the plan.

    python -m benchmarks.fragmentation

Replays the tensors of two steps (`tape.py`) through the allocator with expandable segments
(`heap.py`), as in `run.sh`: for well-known models with every method, with and without
checkpointing, for short and long rows, and for every other model also with rows of twelve lengths.
Prints the fraction beyond the allocated peak, by method, and how often the plan's `reserved_bytes`
covers it. Exits 1 if the plan covers fewer than nine of ten runs of a method.
"""

import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal

from benchmarks.tape import replay
from ftc.compiler.knowledge.architecture import Shape, count_adapter_parameters
from ftc.compiler.knowledge.models import all_models
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.peak import cached_bytes
from ftc.compiler.plan.memory.phases import phases
from ftc.compiler.plan.software import GIB, PINNED, PINNED_QLORA

Method = Literal["full", "lora", "qlora"]
METHODS: Final[tuple[Method, ...]] = ("full", "lora", "qlora")
EVERY: Final = 12  # replay every twelfth model of the table
# fractions of the full length per step: most rows are short, and the longest comes late
_SHARES: Final = (0.2, 0.45, 0.1, 0.3, 0.7, 0.25, 0.15, 1.0, 0.35, 0.05, 0.6, 0.3)
_LARGEST: Final = 150 * GIB  # more than any device has
_COVERED: Final = 0.9
_WORKSPACE_BYTES: Final = 2 * 8_519_680


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One run: its allocated peak, and what the replay and the plan reserve beyond it."""

    method: Method
    allocated_bytes: int
    beyond_bytes: int
    planned_bytes: int


def planned_jobs(method: Method, *, every: int = EVERY) -> Iterator[Job]:
    """Yield runs of a method on one GPU, in bf16."""
    shapes = [model.shape for model in all_models() if model.shape and model.shape.linear_shapes]
    options = product(shapes[::every], (True, False), (1, 8), (512, 2048))
    for shape, checkpointing, micro, length in options:
        yield make_job(method, shape, checkpointing=checkpointing, micro=micro, length=length)


def make_job(method: Method, shape: Shape, *, checkpointing: bool, micro: int, length: int) -> Job:
    """Return a run with adapters of rank 16 on all linear modules, or of all weights."""
    full, targets = method == "full", tuple(shape.linear_shapes)
    return Job(
        shape=shape,
        full=full,
        trainable=shape.parameters if full else count_adapter_parameters(shape, targets, 16),
        targets=() if full else targets,
        rank=0 if full else 16,
        load_bytes=4 if full else 2,
        compute_bytes=2,
        storage="nf4-double" if method == "qlora" else "plain",
        attention="sdpa",
        sharding="single",
        world=1,
        micro=micro,
        accumulation=1,
        length_tokens=length,
        checkpointing=checkpointing,
        gpu=True,
        workspace_bytes=_WORKSPACE_BYTES,
        stack=PINNED_QLORA if method == "qlora" else PINNED,
    )


def replay_job(method: Method, job: Job, *, varied: bool = False) -> Replay | None:
    """Return the replay of a run, or None if no device is large enough."""
    allocated = max(phases(job).values())
    if allocated > _LARGEST:
        return None
    lengths = [max(16, round(share * job.length_tokens)) for share in _SHARES] if varied else []
    heap = replay(job, expandable=True, lengths=lengths)
    return Replay(
        method=method,
        allocated_bytes=allocated,
        beyond_bytes=heap.most_reserved_bytes - heap.most_taken_bytes,
        planned_bytes=cached_bytes(job, allocated),
    )


def replay_method(method: Method, *, varied: bool) -> list[Replay]:
    """Return the runs of a method; with `varied`, rows of many lengths for every other model."""
    jobs = planned_jobs(method, every=2 * EVERY if varied else EVERY)
    runs = (replay_job(method, job, varied=varied) for job in jobs)
    return [run for run in runs if run is not None]


def main() -> None:
    """Replay the grid and print a line per method and kind of rows."""
    print(f"{'method':24}{'runs':>6}{'median':>9}{'p95':>9}{'max':>9}{'covered':>9}")
    least = 1.0
    for varied, method in product((False, True), METHODS):
        runs = replay_method(method, varied=varied)
        shares = sorted(run.beyond_bytes / run.allocated_bytes for run in runs)
        covered = sum(run.planned_bytes >= run.beyond_bytes for run in runs) / len(runs)
        least = min(least, covered)
        places = (statistics.median(shares), shares[round(0.95 * (len(shares) - 1))], shares[-1])
        columns = "".join(f"{share:>9.1%}" for share in (*places, covered))
        print(f"{method + (', many lengths' if varied else ''):24}{len(runs):>6}{columns}")
    print(f"the plan covers at least {least:.0%} of the runs of each line")
    sys.exit(0 if least >= _COVERED else 1)


if __name__ == "__main__":
    main()
