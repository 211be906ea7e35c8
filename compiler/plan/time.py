"""How long a run takes: a roofline over what the hardware reaches, with an honest range."""

import math
from dataclasses import dataclass
from typing import Final

from ftc.compiler.knowledge.accelerators import find_accelerator
from ftc.compiler.plan.disk import checkpoint_bytes
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.plan import Time
from ftc.compiler.resolve.facts import HardwareFacts, Lengths

# Share of the data sheet's rate. Median of plain SFTTrainer runs on A100-80GB (fms-acceleration,
# scripts/benchmarks/refs: 0.32 to 0.62 over 1.1B to 70B, full, LoRA and QLoRA, 1 and 2 GPUs).
_EFFICIENCY, _EFFICIENCY_LEAST, _EFFICIENCY_MOST = 0.47, 0.30, 0.62
_CPU_FLOPS_PER_CORE = 30e9  # fp32 on a server core, a model of some million parameters: rough
_CPU_SPREAD = 2.0  # ... by this factor either way
_ESTIMATE_SPREAD = 1.2  # more, where lengths were estimated from characters
_LAYER_SECONDS = 0.001  # kernel launches of one layer, forward and backward: Python's floor
_STEP_SECONDS = 0.02  # per optimiser step: data loader, logging
_START_SECONDS = 20.0  # imports, tokenising a small file, the first step
_DISK_BYTES_PER_SECOND = 1e9  # an NVMe disk or a network disk of a cloud: an assumption
_LINK_BYTES_PER_SECOND: Final = {"nvlink": 200e9, "pcie": 12e9, "none": 12e9}  # of an all-reduce
_STATE_TRAFFIC_BYTES = 28  # AdamW reads and writes weight, gradient and two moments, in fp32


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a run has to do: optimiser steps of rows, evaluations of rows, and checkpoints."""

    steps: int
    rows_per_step: int
    evaluations: int
    evaluation_rows: int
    saves: int
    lengths: Lengths
    max_length_tokens: int


def estimate_time(job: Job, hardware: HardwareFacts, work: Work) -> Time | None:
    """Return the seconds of a run and their range; None where no rate is known.

    A micro-batch takes the longest of its operations at the rate reached, one reading of the
    weights per pass at the memory's bandwidth, and the launches of its kernels; communication
    counts where it outlasts the computing that it overlaps (S. Williams et al., "Roofline", 2009).
    """
    rate = _rate(job, hardware)
    if rate is None:
        return None
    tokens = padded_tokens(work.lengths, job.micro, work.max_length_tokens)
    micro = _micro_seconds(job, hardware, rate, operations_per_token(job) * job.micro * tokens)
    step = micro * job.accumulation + _exposed_seconds(job, hardware, micro) + _STEP_SECONDS
    step += _states_seconds(job, hardware)
    forward = 2 * active_parameters(job) * work.evaluation_rows * tokens / (rate * job.world)
    evaluation = work.evaluations * forward
    saving = work.saves * checkpoint_bytes(job) / _DISK_BYTES_PER_SECOND
    loading = job.shape.parameters * job.load_bytes / _DISK_BYTES_PER_SECOND + _START_SECONDS
    total = work.steps * step + evaluation + saving + loading
    low, high = _spread(job, work.lengths)
    return Time(
        total_seconds=round(total, 1),
        low_seconds=round(total * low, 1),
        high_seconds=round(total * high, 1),
        training_seconds=round(work.steps * step, 1),
        evaluation_seconds=round(evaluation, 1),
        saving_seconds=round(saving, 1),
        loading_seconds=round(loading, 1),
        tokens_per_second=round(work.rows_per_step * work.lengths.mean / step, 1),
    )


def operations_per_token(job: Job) -> int:
    """Floating-point operations per token and step.

    2 per active parameter forward, 4 backward (arXiv 2001.08361, section 2.1); 2 more to recompute
    under checkpointing; 2 fewer where a frozen base needs no weight gradients.
    """
    factor = (6 if job.full else 4) + (2 if job.checkpointing else 0)
    return factor * active_parameters(job)


def active_parameters(job: Job) -> int:
    """Return the parameters that one token goes through: of experts, those it is routed to."""
    shape = job.shape
    if not shape.experts:
        return shape.parameters
    idle = shape.experts - shape.experts_per_token
    return shape.parameters - shape.expert_parameters * idle // shape.experts


def padded_tokens(lengths: Lengths, rows: int, max_length_tokens: int) -> float:
    """Return the expected tokens per row of a micro-batch that is padded to its longest row.

    The mean of the largest of so many draws from the histogram, over that of one, times the mean.
    """
    total = sum(count for _, count in lengths.histogram)
    if not total:
        return max(1.0, min(lengths.mean, max_length_tokens))

    def largest_of(draws: int) -> float:
        below, expected = 0.0, 0.0
        seen = 0
        for edge, count in sorted(lengths.histogram):
            seen += count
            share = (seen / total) ** draws
            expected += min(edge, max_length_tokens) * (share - below)
            below = share
        return expected

    one = largest_of(1)
    stretch = largest_of(rows) / one if one else 1.0
    return max(1.0, min(lengths.mean * stretch, max_length_tokens))


def _rate(job: Job, hardware: HardwareFacts) -> float | None:
    """Return the operations per second that one process reaches."""
    if hardware.kind == "cpu":
        cores = hardware.cores
        return None if cores is None else cores * _CPU_FLOPS_PER_CORE / max(1, hardware.count)
    tflops = hardware.bf16_tflops
    if job.compute_bytes == 4 or not hardware.bf16:  # noqa: PLR2004 - fp32
        match = find_accelerator(hardware.name)
        device = match.accelerator if match is not None else None
        if device is not None:
            tflops = device.fp32_tflops if job.compute_bytes == 4 else device.fp16_tflops  # noqa: PLR2004
    return None if not tflops else tflops * 1e12 * _EFFICIENCY


def _micro_seconds(job: Job, hardware: HardwareFacts, rate: float, operations: float) -> float:
    """Return the seconds of one micro-batch: the slowest of computing, reading and launching."""
    computing = operations / rate
    if hardware.kind == "cpu" or not hardware.bandwidth_gb_s:
        return computing
    passes = 3 if job.checkpointing else 2
    reading = passes * job.shape.parameters * job.compute_bytes / (hardware.bandwidth_gb_s * 1e9)
    return max(computing, reading, job.shape.layers * _LAYER_SECONDS)


def _exposed_seconds(job: Job, hardware: HardwareFacts, micro: float) -> float:
    """Return the seconds of communication per step that computing does not hide.

    A ring moves twice the gradients (NCCL); DDP and ZeRO-2 do so once a step, beside its last
    micro-batch; ZeRO-3 also gathers the weights twice for every micro-batch.
    """
    if job.world == 1 or hardware.kind == "cpu":
        return 0.0
    speed = _LINK_BYTES_PER_SECOND[hardware.link]
    moved = 2.0 * job.trainable * job.compute_bytes
    hidden = micro
    if job.sharding == "zero3":
        moved += 2.0 * job.shape.parameters * job.compute_bytes * job.accumulation
        hidden = micro * job.accumulation
    return max(0.0, moved / speed - hidden)


def _states_seconds(job: Job, hardware: HardwareFacts) -> float:
    """Return the seconds of AdamW's traffic, of this process's share of the states."""
    if not hardware.bandwidth_gb_s:
        return 0.0
    share = job.world if job.deepspeed else 1
    return job.trainable * _STATE_TRAFFIC_BYTES / share / (hardware.bandwidth_gb_s * 1e9)


def _spread(job: Job, lengths: Lengths) -> tuple[float, float]:
    """Return the factors of the range: what was measured, wider where lengths are estimates."""
    low, high = _EFFICIENCY / _EFFICIENCY_MOST, _EFFICIENCY / _EFFICIENCY_LEAST
    if not job.gpu:
        low, high = 1 / _CPU_SPREAD, _CPU_SPREAD
    return (low / _ESTIMATE_SPREAD, high * _ESTIMATE_SPREAD) if lengths.estimate else (low, high)


def count_evaluations(steps: int, every: int) -> int:
    """Return how often something happens that happens every so many steps, the end included."""
    return math.ceil(steps / max(1, every))
