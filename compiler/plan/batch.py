"""The global batch, and the micro-batches that divide it."""

import math
from dataclasses import dataclass
from typing import Any

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


def target_rows(train_rows: int) -> float:
    """Return the rows of the data that a step is to have: a hundredth, within bounds."""
    return min(_MOST, max(_LEAST, train_rows / _ROWS_PER_STEP))


def decide_batch(spec: Spec, *, train_rows: int, world: int, each: float = 1.0) -> Batch:
    """Rows per optimiser step: what the spec says, or a power of two per process near rows / 100.

    Where `each` row of a batch holds several of the data, packed, batches count packed rows. Where
    the spec's numbers do not divide, the nearest batch that does takes their place (and a rule says
    so).
    """

    def derive() -> tuple[int, Because]:
        asked = max(least_rows(spec), target_rows(train_rows) / each / world)
        per_process = 2 ** max(0, round(math.log2(asked)))
        values: dict[str, Any] = {"rows": train_rows}
        if each > 1:
            values["each"] = round(each, 1)
        key = "global_batch.packed" if each > 1 else "global_batch.rows"
        return per_process * world, Because(key=key, values=values)

    decision = decide(spec, "/training/global_batch", spec.training.global_batch, derive)
    micro = spec.training.micro_batch
    unit = world if micro == "auto" else world * micro
    whole = unit * max(1, round(decision.value / unit))
    if whole != decision.value:
        key = "global_batch.whole" if decision.source == "derived" else "global_batch.rounded"
        decision = derived(whole, key, asked=decision.value, unit=unit, rows=train_rows)
    rows = whole // world
    options = divisors(rows) if micro == "auto" else (micro,)
    options = tuple(n for n in options if n >= least_rows(spec)) or options[:1]
    return Batch(decision=decision, rows_per_process=rows, micro_options=options)


def least_rows(spec: Spec) -> int:
    """Return the fewest rows of a pass: KTO compares each with the answer to another one."""
    return 2 if spec.objective.type == "kto" else 1


def divisors(rows: int) -> tuple[int, ...]:
    """Return the divisors of a number, falling."""
    small = [n for n in range(1, math.isqrt(rows) + 1) if rows % n == 0]
    return tuple(sorted({*small, *(rows // n for n in small)}, reverse=True))


def ladder(rows_per_process: int, micro: int, *, least: int = 1) -> tuple[tuple[int, int], ...]:
    """(micro-batch, accumulation) from this micro-batch down; every row keeps the global batch."""
    options = [n for n in divisors(rows_per_process) if least <= n <= micro]
    return tuple((n, rows_per_process // n) for n in options or [micro])
