"""Counts the GPUs that would hold a row too long for one, if they divided its tokens."""

from dataclasses import replace
from typing import Final

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.peak import measure
from ftc.compiler.resolve.facts import HardwareFacts

_DIVISIONS: Final = (1, 2, 4, 8, 16, 32, 64)


def count_context_gpus(job: Job, hardware: HardwareFacts) -> int | None:
    """Return the fewest GPUs that hold one row by context parallelism, where one holds none.

    Each has an equal share of the tokens, and the same weights and states (ring attention, arXiv
    2310.01889, passes keys and values on). None where one row fits as it is, where that is not
    enough, for a CPU and for answers that are generated.
    """
    if hardware.kind != "gpu" or job.answer_tokens:
        return None
    for gpus in _DIVISIONS:
        tokens = -(-job.length_tokens // gpus)
        part = replace(job, micro=1, eval_micro=1, length_tokens=tokens, eval_length_tokens=tokens)
        if measure(part, hardware).fits:
            return gpus if gpus > 1 else None
    return None
