"""The global batch, and the micro-batches that divide it."""

import math
from dataclasses import dataclass

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.source import decide, derived
from ftc.spec.sections import Spec

_ROWS_PER_STEP = 100  # about a hundred optimiser steps an epoch
_LEAST, _MOST = 4, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The global batch as a whole multiple of the processes' rows.

    `rows_per_process` is what one process sees per optimiser step; `micro_options` fall, and each
    divides it.
    """

    decision: Decision[int]
    rows_per_process: int
    micro_options: tuple[int, ...]


def decide_batch(spec: Spec, *, train_rows: int, world: int) -> Batch:
    """Rows per optimiser step: what the spec says, or a power of two per process near rows / 100.

    Where the spec's numbers do not divide, the nearest batch that does takes their place (and a
    rule says so).
    """

    def derive() -> tuple[int, Because]:
        target = min(_MOST, max(_LEAST, train_rows / _ROWS_PER_STEP))
        per_process = 2 ** max(0, round(math.log2(target / world)))
        return per_process * world, Because(key="global_batch.rows", values={"rows": train_rows})

    decision = decide(spec, "/training/global_batch", spec.training.global_batch, derive)
    micro = spec.training.micro_batch
    unit = world if micro == "auto" else world * micro
    whole = unit * max(1, round(decision.value / unit))
    if whole != decision.value:
        key = "global_batch.whole" if decision.source == "derived" else "global_batch.rounded"
        decision = derived(whole, key, asked=decision.value, unit=unit, rows=train_rows)
    rows = whole // world
    options = divisors(rows) if micro == "auto" else (micro,)
    return Batch(decision=decision, rows_per_process=rows, micro_options=options)


def divisors(rows: int) -> tuple[int, ...]:
    """Return the divisors of a number, falling."""
    small = [n for n in range(1, math.isqrt(rows) + 1) if rows % n == 0]
    return tuple(sorted({*small, *(rows // n for n in small)}, reverse=True))


def ladder(rows_per_process: int, micro: int) -> tuple[tuple[int, int], ...]:
    """(micro-batch, accumulation) from this micro-batch down; every row keeps the global batch."""
    return tuple((n, rows_per_process // n) for n in divisors(rows_per_process) if n <= micro)
