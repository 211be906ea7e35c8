"""How long one device computes a micro-batch: arithmetic, memory traffic, kernel launches."""

from typing import Final

from ftc.compiler.knowledge.accelerators import find_accelerator
from ftc.compiler.plan.activations import layer_bytes
from ftc.compiler.plan.generation import prefill_tokens, token_seconds
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.temporaries import targeted_weights
from ftc.compiler.resolve.facts import HardwareFacts

# Fitted together to plain SFTTrainer runs on one A100-80GB (fms-acceleration,
# scripts/benchmarks/refs; 1.1B to 70B; full, LoRA, QLoRA, GPTQ): 14 rates, 12 % off in the mean
# square, 31 % at most. `benchmarks/memory.md` says how.
_MATMUL_SHARE: Final = 0.83  # of the data sheet's dense rate, that very wide products reach
_HALF_RATE_HIDDEN: Final = 1200  # the hidden size at which products reach half of that
_TRAFFIC: Final = 3.6  # device memory read and written per pass, in bytes a layer keeps of a token
_DEQUANTIZED_BYTES: Final = 7.5  # per 4-bit weight and pass: read, written in 16 bits, read again

_CPU_FLOPS_PER_CORE: Final = 30e9  # fp32 on a server core, a model of some million weights: rough
# A CPU's memory, read and written by one process: what a pass over the weights costs there.
_CPU_BYTES_PER_SECOND: Final = 20e9
# Python's floor of a pass, forward and backward, measured on one core of a server with the pinned
# Trainer (Llamas of 2 and 8 layers, hidden sizes 64 and 256, 1 to 32 rows of 40 tokens): 2.5 ms for
# collator, hooks and engine, and 0.85 ms per layer, which is some 100 operations. A GPU's host does
# the same work, launching kernels instead of computing them, while the GPU computes.
_PASS_SECONDS, _LAYER_SECONDS = 0.0025, 0.001
_ADAPTED_SECONDS: Final = 0.00015  # some 15 operations more for each adapted module: an assumption
# DoRA's norm, per adapted weight and forward pass: an fp32 copy of it, the adapter's product, that
# scaled, and their sum, each written and read: an assumption
_NORM_BYTES: Final = 32
_CAST_BYTES: Final = 6  # autocast reads an fp32 weight and writes it in 16 bits
_NOMINAL_TFLOPS: Final = 100.0  # of a device that no table knows, to rank layouts by


def micro_seconds(job: Job, hardware: HardwareFacts, tokens: float) -> float:
    """Return the seconds of one micro-batch of so many tokens, forward and backward.

    The slower of computing and launching kernels (S. Williams et al., "Roofline", 2009, has the
    idea). Computing is arithmetic at the rate that products of this width reach, and at the
    memory's bandwidth the traffic of everything between them and one reading of the weights per
    pass, which is what few tokens at a time cost. A device of unknown rate is taken as a nominal
    one, which ranks layouts and says nothing of time: see `rate`.
    """
    launching = job.shape.layers * (_LAYER_SECONDS + _ADAPTED_SECONDS * len(job.targets))
    launching *= 4 / 3 if job.checkpointing else 1
    launching += _PASS_SECONDS
    if hardware.kind == "cpu":
        cores = hardware.cores or 1
        speed = cores * _CPU_FLOPS_PER_CORE / max(1, hardware.count)
        reading = weight_traffic_bytes(job) / _CPU_BYTES_PER_SECOND
        return operations(job) * tokens / speed + reading + launching
    bandwidth = (hardware.bandwidth_gb_s or 10 * _NOMINAL_TFLOPS) * 1e9
    computing = operations(job) * tokens / product_rate(job, hardware)
    weights = job.shape.linear_parameters + job.shape.expert_parameters
    moving = _TRAFFIC * passes(job) * job.shape.layers * layer_bytes(job) * tokens
    if job.storage != "plain":
        moving += _DEQUANTIZED_BYTES * passes(job) * weights
    if job.mixed:
        moving += _CAST_BYTES * (2 if job.checkpointing else 1) * weights
    if job.dora:
        moving += _NORM_BYTES * (2 if job.checkpointing else 1) * targeted_weights(job)
    moving += passes(job) * job.shape.parameters * job.compute_bytes
    return max(computing + moving / bandwidth, launching)


def weight_traffic_bytes(job: Job) -> float:
    """Return what a pass reads and writes of weights, and of gradients that it adds to.

    Few rows at a time read all of it for each of them: on a CPU, where nothing hides it, 28 bytes a
    weight of a full fine-tune took the 1.3 ns that were measured.
    """
    adding = 4 * job.load_bytes  # a new gradient written and read, the sum read and written
    return passes(job) * job.shape.parameters * job.load_bytes + adding * job.trainable


def forward_seconds(job: Job, hardware: HardwareFacts, tokens: float) -> float:
    """Return the seconds of one forward pass without a backward: an evaluation's batch."""
    return micro_seconds(job, hardware, tokens) / passes(job)


def generation_seconds(job: Job, hardware: HardwareFacts) -> float:
    """Return the seconds of an optimiser step's generated answers, all as long as they may be.

    The prompts go through the model at once, then one token of each row at a time.
    """
    if not job.answer_tokens:
        return 0.0
    bandwidth = _CPU_BYTES_PER_SECOND
    speed = (hardware.cores or 1) * _CPU_FLOPS_PER_CORE / max(1, hardware.count)
    if hardware.kind != "cpu":
        bandwidth = (hardware.bandwidth_gb_s or 10 * _NOMINAL_TFLOPS) * 1e9
        speed = product_rate(job, hardware)
    token = token_seconds(job, rate=speed, bytes_per_second=bandwidth)
    return forward_seconds(job, hardware, prefill_tokens(job)) + job.answer_tokens * token


def passes(job: Job) -> float:
    """Forward, a backward that costs two, and one more forward where activations are recomputed.

    A frozen base needs no gradients of its weights: its backward costs one. Layers before the first
    trained weight go forward alone.
    """
    backward = (2 if job.full else 1) + (1 if job.checkpointing else 0)
    if not job.frozen_layers:
        return 1 + backward
    return 1 + backward * job.backward_layers / job.shape.layers


def operations(job: Job) -> float:
    """Floating-point operations per token of a micro-batch.

    2 per weight and pass (arXiv 2001.08361, section 2.1), looked-up embeddings apart; attention
    besides: scores and values of half the row on average, twice and a half that backward.
    """
    shape = job.shape
    looked_up = 0 if shape.tied else shape.embedding_parameters
    weights = 2 * (active_parameters(job) - looked_up)
    attention = 2 * job.length_tokens * shape.heads * shape.head_dim * shape.layers
    reached = job.backward_layers / shape.layers
    recomputed = reached if job.checkpointing else 0
    adapter: float = 0 if job.full else 6 * job.trainable
    if job.dora and job.dropout:  # which multiplies with the base's weights once more
        adapter += 2 * passes(job) * targeted_weights(job)
    return weights * passes(job) + attention * (1 + 2.5 * reached + recomputed) + adapter


def active_parameters(job: Job) -> int:
    """Return the parameters that one token goes through: of experts, those it is routed to."""
    shape = job.shape
    if not shape.experts:
        return shape.parameters
    idle = shape.experts - shape.experts_per_token
    return shape.parameters - shape.expert_parameters * idle // shape.experts


def product_rate(job: Job, hardware: HardwareFacts) -> float:
    """Return the operations per second that matrix products of this model reach."""
    hidden = job.shape.hidden
    peak = (rate(job, hardware) or _NOMINAL_TFLOPS) * 1e12
    return peak * _MATMUL_SHARE * hidden / (hidden + _HALF_RATE_HIDDEN)


def rate(job: Job, hardware: HardwareFacts) -> float | None:
    """Return the data sheet's dense rate in this precision, in 10^12 per second, where known.

    For a CPU the cores must be known, and the figure is only of use as being there.
    """
    if hardware.kind == "cpu":
        return None if hardware.cores is None else hardware.cores * _CPU_FLOPS_PER_CORE / 1e12
    wide = job.compute_bytes == 4  # noqa: PLR2004 - fp32
    if not wide and hardware.bf16:
        return hardware.bf16_tflops
    match = find_accelerator(hardware.name)
    if match is None:
        return hardware.bf16_tflops
    return match.accelerator.fp32_tflops if wide else match.accelerator.fp16_tflops
