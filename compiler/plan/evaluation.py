"""Rows per pass of an evaluation: as many as training's memory holds, if that is faster."""

from dataclasses import replace
from typing import Final

from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.phases import parts_of_phases
from ftc.compiler.plan.roofline import forward_seconds
from ftc.compiler.plan.source import derived
from ftc.compiler.plan.time import padded_tokens
from ftc.compiler.resolve.facts import HardwareFacts, Lengths

_MOST: Final = 64  # rows; more is no faster, and the last batch wastes what is not filled


def decide_eval_batch(
    job: Job, hardware: HardwareFacts, lengths: Lengths, *, rows: int
) -> Decision[int]:
    """Return the fastest doubling of the micro-batch that evaluates within training's peak.

    Longer batches are padded further, which is why the largest is not always the fastest. `rows`
    are those of the validation split: a batch holds no more than one process's share of them.
    """
    peak = max(sum(parts.values()) for parts in parts_of_phases(job).values())
    share = -(-rows // job.world)
    options, micro = [job.micro], 2 * job.micro
    while micro <= min(_MOST, share):
        if sum(parts_of_phases(replace(job, eval_micro=micro))["evaluation"].values()) > peak:
            break
        options.append(micro)
        micro *= 2

    def seconds_per_row(micro: int) -> float:
        tokens = micro * padded_tokens(lengths, micro, job.eval_length_tokens or job.length_tokens)
        return forward_seconds(job, hardware, tokens) / micro

    best = min(options, key=seconds_per_row)
    if best == job.micro:
        return derived(best, "eval_batch.same")
    return derived(best, "eval_batch.more", rows=best)
