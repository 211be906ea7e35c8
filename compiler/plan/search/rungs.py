"""What each line of the ladder is planned to need: what a pilot of training is compared with."""

from collections.abc import Iterable
from dataclasses import replace

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.peak import measure
from ftc.compiler.plan.plan import Rung
from ftc.compiler.plan.search.space import Frame
from ftc.compiler.plan.time.roofline import rate
from ftc.compiler.plan.time.run import pass_tokens, step_seconds


def measure_rungs(frame: Frame, job: Job, lines: Iterable[tuple[int, int]]) -> tuple[Rung, ...]:
    """Return the memory and the time of a step for each line: rows of a pass, passes of a step."""
    return tuple(
        measure_rung(frame, replace(job, micro=micro, accumulation=passes, eval_micro=1))
        for micro, passes in lines
    )


def measure_rung(frame: Frame, job: Job) -> Rung:
    """Return the peak of one process and the seconds of a step; a pilot does not evaluate."""
    hardware = frame.facts.hardware
    memory = measure(job, hardware)
    step = frame.batch.decision.value
    tokens = pass_tokens(frame.arrangement, micro=job.micro, world=job.world, step=step)
    seconds = round(step_seconds(job, hardware, tokens), 4) if rate(job, hardware) else None
    return Rung(
        micro=job.micro,
        accumulation=job.accumulation,
        allocated_bytes=memory.allocated_bytes,
        memory_bytes=memory.reserved_bytes if job.gpu else memory.device_bytes,
        margin_bytes=memory.reserved_bytes - memory.allocated_bytes,
        step_seconds=seconds,
    )
