"""The rows per pass of an evaluation."""

from dataclasses import replace
from typing import Final

from ftc.compiler.plan.decision import Decision, derived
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.phases import parts_of_phases
from ftc.compiler.plan.time.roofline import forward_seconds
from ftc.compiler.plan.time.run import padded_tokens
from ftc.compiler.resolve.facts import HardwareFacts, Lengths

_MOST_EVAL_ROWS: Final = 64  # rows; more is no faster, and the last batch is only partly filled


def decide_eval_batch(
    job: Job, hardware: HardwareFacts, lengths: Lengths, *, rows: int
) -> Decision[int]:
    """Decide the rows per pass of an evaluation: the fastest doubling within the peak of training.

    Larger batches have more padding, so the largest is not always the fastest. `rows` are those of
    the validation split: a batch has at most the share of one process.
    """
    peak = max(sum(parts.values()) for parts in parts_of_phases(job).values())
    share = -(-rows // job.world)
    options, micro = [job.micro], 2 * job.micro
    while micro <= min(_MOST_EVAL_ROWS, share):
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
