"""The time of training and of the evaluation on the test split, and its cost."""

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from statistics import fmean
from typing import Final

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.batch.sizes import Arrangement
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.host import checkpoint_bytes
from ftc.compiler.plan.memory.passes import (
    passes_without_gradient,
    reference_passes,
    teaching,
)
from ftc.compiler.plan.plan import Cost, Evidence, Time
from ftc.compiler.plan.time.roofline import (
    HOST_LINK,
    cpu_rate,
    forward_seconds,
    generation_seconds,
    is_fitted,
    micro_seconds,
    rate,
    step_overhead_seconds,
)
from ftc.compiler.resolve.facts import HardwareFacts, Lengths

_BATCH_TOKENS, _BATCH_ROWS = 4096, 16  # of runtime/evaluate/judging.py
_ANSWERED_TOKENS: Final = 8192  # of prompts and answers at once: runtime/evaluate/answers.py
_MINED_ROWS: Final = 32  # BATCH_TEXTS of runtime/models/vectors.py
_WEIGHT_BYTES: Final = 2  # a merged model is saved in 16 bits
_IMPORT_SECONDS: Final = 10.0
_SVD_RATE: Final = 2e11  # operations per second of a GPU server's CPU in LAPACK: an assumption
# Seconds measured over seconds predicted, least and most: on the rates that the roofline was fitted
# to, which are all of A100s, 0.76 to 1.22.
_LEAST, _MOST = 0.7, 1.5
# ... on another card. On an H200 bundles took 0.9 to 1.6 times the planned seconds, and a plain
# script with TRL up to 2.1 times (`python -m benchmarks.gpu check`).
MOST_ELSEWHERE: Final = 2.2
_CPU_SPREAD: Final = 2.0  # ... by this factor either way
_ESTIMATE_SPREAD: Final = 1.2  # more, where lengths were estimated from characters
_START_SECONDS: Final = 20.0  # imports, tokenizing a small file, the first step
_HOUR_SECONDS: Final = 3600
_DISK_BYTES_PER_SECOND: Final = 1e9  # an NVMe disk or a cloud's network disk: an assumption


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What each model is evaluated on: the rows whose loss is computed, and those it answers.

    `row_tokens` is the mean length of a sequence; a pair has two.
    """

    rows: int
    row_tokens: float
    answered_rows: int
    answer_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """What one evaluation of a run does.

    The loss of `rows` is computed; they have `lengths`, and at most `max_length_tokens`. Under GRPO
    and RLOO they are prompts, and the processes divide the generation of their answers.
    `written_rows` are answered by every process (`runtime/evaluate/answers.py`), with at most
    `answer_tokens`.
    """

    rows: int
    lengths: Lengths
    max_length_tokens: int
    written_rows: int = 0
    answer_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mined:
    """The texts among which hard negatives are found, and the mean length of one."""

    texts: int
    row_tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a run has to do: optimizer steps, evaluations and checkpoints.

    `evaluations` include the one before the first step and the one of the best checkpoint.
    `referred_rows` are the rows whose reference is computed once before training. `trained` is how
    the rows of a step are arranged. `judged` is what is evaluated on the test split, None without
    one. `mined` are the texts that the untrained model reads to find hard negatives. `decomposed`
    says that adapters begin with the singular values of the weights (PiSSA).
    """

    steps: int
    rows_per_step: int
    trained: Arrangement
    evaluations: int
    evaluated: Evaluated
    saves: int
    referred_rows: int = 0
    judged: Judged | None = None
    mined: Mined | None = None
    decomposed: bool = False


def estimate_time(job: Job, hardware: HardwareFacts, work: Work) -> Time | None:
    """Return the seconds of a run and their range; None where no rate is known.

    What the device computes is scaled by what a pilot measured, if there is one.
    """
    if not rate(job, hardware):
        return None
    tokens = pass_tokens(work.trained, micro=job.micro, world=job.world, step=work.rows_per_step)
    step = step_seconds(job, hardware, tokens)
    evaluation = work.evaluations * evaluation_seconds(job, hardware, work.evaluated)
    saving = work.saves * saving_seconds(job)
    loading = job.shape.parameters * job.load_bytes / _DISK_BYTES_PER_SECOND + _START_SECONDS
    loading += _reading_seconds(job)
    if job.reference == "precomputed":
        asked = math.ceil(work.referred_rows / (job.micro * job.world)) * reference_passes(job)
        asking = asked * forward_seconds(job, hardware, job.sequences * tokens)
        loading += asking * time_factor(hardware)
    loading += mining_seconds(job, hardware, work.mined) or 0.0
    loading += _decomposing_seconds(job, hardware) if work.decomposed else 0.0
    judging = judging_seconds(job, hardware, work.judged) if work.judged else 0.0
    total = work.steps * step + evaluation + saving + loading + judging
    evidence = _evidence(job, hardware)
    low, high = _spread(job, evidence, work.evaluated.lengths)
    learned = work.rows_per_step * job.row_sequences * work.trained.lengths.mean
    return Time(
        total_seconds=round(total, 1),
        low_seconds=round(total * low, 1),
        high_seconds=round(total * high, 1),
        training_seconds=round(work.steps * step, 1),
        evaluation_seconds=round(evaluation, 1),
        saving_seconds=round(saving, 1),
        loading_seconds=round(loading, 1),
        judging_seconds=round(judging, 1),
        tokens_per_second=round(learned / step, 1),
        evidence=evidence,
    )


def estimate_cost(time: Time | None, hardware: HardwareFacts, price: float | None) -> Cost | None:
    """Return the cost of a run at a price per GPU and hour; None where price or time is not known.

    The price of a CPU is that of its machine, for any number of processes. All nodes are paid.
    """
    if time is None or price is None:
        return None
    hourly = price * hardware.nodes * (hardware.count if hardware.kind == "gpu" else 1)
    total, low, high = (
        round(hourly * seconds / _HOUR_SECONDS, 2)
        for seconds in (time.total_seconds, time.low_seconds, time.high_seconds)
    )
    return Cost(total=total, low=low, high=high)


def step_seconds(job: Job, hardware: HardwareFacts, tokens: float) -> float:
    """Return the seconds of one optimizer step of `tokens` per sequence, padding included.

    The passes of a reference or a teacher and the generation of answers are added.
    """
    read = job.micro * job.row_sequences * tokens
    micro = micro_seconds(job, hardware, read)
    if passes_without_gradient(job):
        micro += passes_without_gradient(job) * forward_seconds(job, hardware, read)
    micro += teacher_seconds(job, hardware, job.sequences * tokens)
    step = micro * job.accumulation + step_overhead_seconds(job, hardware, micro)
    return (step + generation_seconds(job, hardware)) * time_factor(hardware)


def evaluation_seconds(job: Job, hardware: HardwareFacts, evaluated: Evaluated) -> float:
    """Return the seconds of one evaluation: its passes and the answers that it generates."""
    seen = job.eval_micro or job.micro
    batches = math.ceil(evaluated.rows / (seen * job.world))
    tokens = (
        seen
        * job.row_sequences
        * padded_tokens(evaluated.lengths, seen, evaluated.max_length_tokens)
    )
    passed = replace(job, micro=seen)
    batch = (1 + passes_without_gradient(job)) * forward_seconds(passed, hardware, tokens)
    batch += teacher_seconds(job, hardware, tokens)
    # TRL 1.16 generates the answers to each batch of an evaluation by themselves
    batch += generation_seconds(replace(job, micro=seen, accumulation=1), hardware)
    at_once = _answered_at_once(evaluated.lengths.mean, evaluated.answer_tokens)
    writing = replace(
        job,
        micro=at_once,
        accumulation=1,
        answer_tokens=evaluated.answer_tokens,
        length_tokens=max(job.length_tokens, evaluated.answer_tokens + 1),
    )
    written = math.ceil(evaluated.written_rows / at_once)
    seconds = batches * batch + written * generation_seconds(writing, hardware)
    return seconds * time_factor(hardware)


def mining_seconds(job: Job, hardware: HardwareFacts, mined: Mined | None) -> float | None:
    """Return the seconds that one process needs to read the texts; None if its rate is unknown."""
    if mined is None or not rate(job, hardware):
        return None
    alone = replace(job, world=1, nodes=1, sharding="single", offload="none", micro=_MINED_ROWS)
    tokens = _MINED_ROWS * mined.row_tokens
    batches = math.ceil(mined.texts / _MINED_ROWS)
    return batches * forward_seconds(alone, hardware, tokens) * time_factor(hardware)


def _decomposing_seconds(job: Job, hardware: HardwareFacts) -> float:
    """Return the seconds of the singular value decompositions of all weights with an adapter.

    PEFT computes them on the CPU, in fp32 and in every process, before the model is on a GPU. An
    m x n matrix takes 6 m n^2 + 20 n^3 operations, n being the smaller side (G. Golub and C. Van
    Loan, "Matrix Computations", the R-SVD with both factors).
    """
    linears = [job.shape.linear_shapes[target] for target in job.targets]
    sides = [
        (sorted((linear.in_features, linear.out_features)), linear.count) for linear in linears
    ]
    work = sum(count * (6 * m * n**2 + 20 * n**3) for (n, m), count in sides)
    processes = max(1, job.world // max(1, job.nodes))
    return work * processes / (cpu_rate(hardware) if hardware.kind == "cpu" else _SVD_RATE)


def _answered_at_once(row_tokens: float, answer_tokens: int) -> int:
    """Return how many prompts are answered in a batch, if prompts are as long as their rows."""
    return max(1, min(_BATCH_ROWS, int(_ANSWERED_TOKENS // (row_tokens + answer_tokens or 1))))


def saving_seconds(job: Job) -> float:
    """Return the seconds of writing one checkpoint."""
    return checkpoint_bytes(job) / _DISK_BYTES_PER_SECOND


def teacher_seconds(job: Job, hardware: HardwareFacts, tokens: float) -> float:
    """Return the seconds of the teacher's pass over a number of tokens; 0 without a teacher."""
    taught = teaching(job)
    return 0.0 if taught is None else forward_seconds(taught, hardware, tokens)


def _reading_seconds(job: Job) -> float:
    """Return the seconds of reading the teacher's 16-bit weights from a disk."""
    if job.teacher is None:
        return 0.0
    return _WEIGHT_BYTES * job.teacher.shape.parameters / _DISK_BYTES_PER_SECOND


def time_factor(hardware: HardwareFacts) -> float:
    """Return the seconds that a pilot measured over those planned; 1 without a pilot."""
    calibration = hardware.calibration
    return 1.0 if calibration is None or calibration.time is None else calibration.time


def pass_tokens(rows: Arrangement, *, micro: int, world: int, step: int) -> float:
    """Return the expected tokens per row of a training pass, padded to its longest row.

    If the `step` rows of a step are sorted, the `micro` rows of all `world` processes are
    consecutive.
    """
    if not rows.sorted:
        return padded_tokens(rows.lengths, max(micro, rows.together), rows.length_tokens)
    return padded_tokens(rows.lengths, micro * world, rows.length_tokens, sorted_rows=step)


def attended_tokens(rows: Arrangement, *, micro: int) -> float:
    """Return the length of the row that a token attends to, on average over the tokens of passes.

    Attention takes the square of a row's length, so long rows count more than in their mean. Packed
    rows have a mask, which leaves no score out.
    """
    if rows.packed or not any(count for _, count in rows.lengths.histogram):
        return rows.length_tokens
    alike = rows.sorted or rows.grouped or rows.together
    return _squared_over_mean(rows.lengths.histogram, 1 if alike else micro, rows.length_tokens)


@lru_cache(maxsize=1024)
def _squared_over_mean(histogram: tuple[tuple[int, int], ...], draws: int, most: int) -> float:
    """Return E[M^2] / E[M] for the maximum M of a number of draws, each at most `most`."""
    total = sum(count for _, count in histogram)
    seen, below, first, second = 0, 0.0, 0.0, 0.0
    for edge, count in sorted(histogram):
        seen += count
        reached = (seen / total) ** draws
        length = min(edge, most)
        first += length * (reached - below)
        second += length**2 * (reached - below)
        below = reached
    return second / first if first else most


@lru_cache(maxsize=1024)
def padded_tokens(
    lengths: Lengths, rows: int, max_length_tokens: int, *, sorted_rows: int = 0
) -> float:
    """Return the expected tokens per row of a micro-batch that is padded to its longest row.

    It is the mean length, times the ratio of the expected maximum of so many draws from the
    histogram to that of one. Of micro-batches from `sorted_rows` sorted draws, the first has the
    maximum of all draws, and each later one the quantile at which it begins.
    """
    edges = sorted((min(edge, max_length_tokens), count) for edge, count in lengths.histogram)
    total = sum(count for _, count in edges)
    if not total:
        return max(1.0, min(lengths.mean, max_length_tokens))
    shares = [seen / total for seen in accumulate(count for _, count in edges)]

    def largest_of(draws: int) -> float:
        below, expected = 0.0, 0.0
        for (edge, _), share in zip(edges, shares, strict=True):
            expected += edge * (share**draws - below)
            below = share**draws
        return expected

    def longest(begin: int) -> float:
        """Return the expected length of a sorted row, counted from the longest."""
        if begin == 0:
            return largest_of(max(rows, sorted_rows))
        return edges[bisect_left(shares, 1 - (begin + 0.5) / sorted_rows)][0]

    begins = range(0, max(1, sorted_rows), rows)
    one = largest_of(1)
    stretch = fmean(longest(begin) for begin in begins) / one if one else 1.0
    return max(1.0, min(lengths.mean * stretch, max_length_tokens))


def _evidence(job: Job, hardware: HardwareFacts) -> Evidence:
    """Return what the time rests on: a pilot, published rates of this GPU, or neither."""
    if hardware.calibration is not None and hardware.calibration.time is not None:
        return "pilot"
    return "published" if job.gpu and is_fitted(hardware) else "none"


def _spread(job: Job, evidence: Evidence, lengths: Lengths) -> tuple[float, float]:
    """Return the factors of the range: as measured, wider where lengths are estimates."""
    most = MOST_ELSEWHERE if evidence == "none" else _MOST
    low, high = (_LEAST, most) if job.gpu else (1 / _CPU_SPREAD, _CPU_SPREAD)
    return (low / _ESTIMATE_SPREAD, high * _ESTIMATE_SPREAD) if lengths.estimate else (low, high)


def count_evaluations(steps: int, every: int) -> int:
    """Return the number of evaluations with this interval of steps, including the end."""
    return math.ceil(steps / max(1, every))


def count_models(job: Job) -> int:
    """Return how many models are evaluated: the base too, unless its head is new."""
    return 1 if OBJECTIVES[job.objective].head == "scores" else 2


def _streamed_seconds(job: Job, hardware: HardwareFacts) -> float:
    """Return the seconds per pass of reading the weights that the node's GPUs do not hold.

    evaluate.py loads by `device_map="auto"`, which leaves them in the memory of the host.
    """
    if hardware.kind == "cpu" or hardware.memory_bytes is None:
        return 0.0
    held = hardware.memory_bytes * hardware.count
    return max(0.0, job.shape.parameters * job.load_bytes - held) / HOST_LINK


def judging_seconds(job: Job, hardware: HardwareFacts, judged: Judged) -> float:
    """Return the seconds of evaluate.py, which has one model in memory at a time.

    One process has the merged 16-bit weights.
    """
    if not judged.rows:
        return 0.0
    alone = replace(hardware, count=1, nodes=1)
    at_once = _answered_at_once(judged.row_tokens, judged.answer_tokens)
    asked = replace(
        job,
        full=True,
        trainable=0,
        targets=(),
        rank=0,
        dora=False,
        storage="plain",
        load_bytes=job.load_bytes if hardware.kind == "cpu" else _WEIGHT_BYTES,
        sharding="single",
        offload="none",
        world=1,
        nodes=1,
        micro=at_once,
        accumulation=1,
        checkpointing=False,
        frozen_layers=0,
        answer_tokens=judged.answer_tokens if judged.answered_rows else 0,
        length_tokens=max(job.length_tokens, judged.answer_tokens + 1),
    )
    tokens = judged.rows * job.row_sequences * judged.row_tokens
    batch = min(_BATCH_TOKENS, _BATCH_ROWS * judged.row_tokens)
    reading = math.ceil(tokens / batch) * forward_seconds(asked, alone, batch)
    reading += math.ceil(tokens / batch) * teacher_seconds(asked, alone, batch)
    batches = math.ceil(judged.answered_rows / at_once)
    writing = batches * generation_seconds(asked, alone)
    loading = job.shape.parameters * asked.load_bytes / _DISK_BYTES_PER_SECOND
    streamed = _streamed_seconds(asked, hardware)
    reading += math.ceil(tokens / batch) * streamed
    writing += batches * judged.answer_tokens * streamed
    reading, writing = (each * time_factor(hardware) for each in (reading, writing))
    teacher = _reading_seconds(job)
    return _IMPORT_SECONDS + teacher + count_models(job) * (loading + reading + writing)
