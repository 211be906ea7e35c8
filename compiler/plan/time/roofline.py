"""The time of a micro-batch on one device, and the cost of a step besides its micro-batches.

A micro-batch costs arithmetic, memory traffic and kernel launches; a step adds communication, the
optimizer and offloaded states.
"""

from dataclasses import replace
from typing import Final

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import (
    input_host_bytes,
    mean_layer_bytes,
    prefill_tokens,
    token_seconds,
)
from ftc.compiler.plan.memory.adapters import adapter_bytes
from ftc.compiler.plan.memory.host import swap_seconds
from ftc.compiler.plan.memory.states import paged_bytes, state_bytes, trained_bytes
from ftc.compiler.plan.memory.weights import base_weights, targeted_weights
from ftc.compiler.plan.time.kernels import (
    adapter_traffic,
    attention_operations,
    attention_seconds,
    launching_seconds,
)
from ftc.compiler.resolve.facts import HardwareFacts

# Fitted together to 14 plain SFTTrainer runs on one A100-80GB (fms-acceleration,
# scripts/benchmarks/refs; 1.1B to 70B; full, LoRA, QLoRA, GPTQ). `python -m benchmarks.rates` holds
# them to these and other runs.
_FITTED_CARD: Final = "A100"
_MATMUL_SHARE: Final = 0.83  # of the data sheet's dense rate, that very wide products reach
_HALF_RATE_HIDDEN: Final = 1200  # the hidden size at which products reach half of that
_TRAFFIC: Final = 3.6  # device memory read and written per pass, in bytes a layer keeps of a token
_DEQUANTIZED_BYTES: Final = 7.5  # per 4-bit weight and pass: read, written in 16 bits, read again
_CPU_FLOPS_PER_CORE: Final = 30e9  # fp32 on a server core, a model of some million weights: rough
# A CPU's memory, read and written by one process: what a pass over the weights costs there.
_CPU_BYTES_PER_SECOND: Final = 20e9
# Python's floor of a pass, forward and backward, measured on one core of a server with the pinned
# Trainer (Llamas of 2 and 8 layers, hidden sizes 64 and 256, 1 to 32 rows of 40 tokens): 2.5 ms for
# collator, hooks and engine, and 0.85 ms per layer, which is some 100 operations.
_PASS_SECONDS, _LAYER_SECONDS = 0.0025, 0.001
_ADAPTED_SECONDS: Final = 0.00015  # some 15 operations more for each adapted module: an assumption
# DoRA's norm, per adapted weight and forward pass: an fp32 copy of it, the adapter's product, that
# scaled, and their sum, each written and read: an assumption
_NORM_BYTES: Final = 32
_CAST_BYTES: Final = 6  # autocast reads an fp32 weight and writes it in 16 bits
_NOMINAL_TFLOPS: Final = 100.0  # of a device that no table knows, to rank layouts by
# Bytes per second that a ring of one host's GPUs reaches (NCCL's "bus bandwidth"): NVLink of
# Hopper, of A100, of older or bridged cards; PCIe through the host.
_HOPPER_LINK, _AMPERE_LINK, _BRIDGE_LINK, _PCIE_LINK = 350e9, 230e9, 50e9, 12e9
# What a node sends to the others where nobody said: the 100 Gbit/s of AWS's p3dn.24xlarge and
# g5.48xlarge, the least of its instances with eight GPUs (its p4d has 400, its p5 3,200).
ASSUMED_GBIT: Final = 100.0
_NETWORK_SHARE: Final = 0.8  # of that a ring reaches: an assumption
_BYTES_PER_GBIT: Final = 1e9 / 8
_HOPPER, _AMPERE_DATA_CENTRE, _VOLTA = 9.0, 8.0, 7.0
_FP32: Final = 4
HOST_LINK: Final = 16e9  # of pinned host memory and one GPU, PCIe of the fourth generation
# DeepSpeed's CPU AdamW, parameters per second of one host: Qwen2.5-3B on two A100 takes steps of
# 2.4 to 3.1 s on 128 cores (deepspeedai/DeepSpeed, tutorial of ZeRO-Offload), most of it this.
_CPU_ADAMW: Final = 1.5e9
_WEIGHT_TRAFFIC_BYTES: Final = 12  # an fp32 weight read and written, its gradient read
_STEP_SECONDS: Final = 0.02  # per optimizer step: data loader, logging
_DEEPSPEED_SECONDS: Final = 0.02  # per step: its engine's bookkeeping; an assumption
_FETCH_SECONDS: Final = 0.0005  # per layer and pass: hooks of FSDP; an assumption
_HIDDEN: Final = 0.5  # share of a micro-batch's time that overlaps with communication


def micro_seconds(job: Job, hardware: HardwareFacts, tokens: float) -> float:
    """Return the seconds of one micro-batch with this many tokens, forward and backward.

    This is the slower of computing and launching kernels (the idea is from S. Williams et al.,
    "Roofline", 2009). Computing is the arithmetic at the rate that products of this width reach,
    plus memory traffic at the memory's bandwidth: of everything between the products, and of one
    reading of the weights per pass, which dominates with few tokens. A device of unknown rate has
    a nominal rate, which only serves to rank layouts (see `rate`).
    """
    speed = _speed(job, hardware)
    computing = (product_operations(job) * tokens + seeing_operations(job)) / speed
    computing += _expert_seconds(job, hardware, tokens)
    if hardware.kind == "cpu":
        attending = attention_operations(job) * tokens / speed
        moving = weight_traffic_bytes(job) / _CPU_BYTES_PER_SECOND
        return computing + attending + moving + _python_seconds(job)
    peak = (rate(job, hardware) or _NOMINAL_TFLOPS) * 1e12
    computing += attention_seconds(job, hardware, tokens, peak=peak, products=speed)
    bandwidth = (hardware.bandwidth_gb_s or 10 * _NOMINAL_TFLOPS) * 1e9
    weights = job.shape.linear_parameters + job.shape.expert_parameters
    moving = (_TRAFFIC * job.shape.layers * _moved_bytes(job) + adapter_traffic(job)) * tokens
    if job.storage != "plain":
        moving += _DEQUANTIZED_BYTES * passes(job) * weights
    if job.mixed:
        moving += _CAST_BYTES * (1 + job.recomputed_share) * weights
    if job.dora:
        moving += _NORM_BYTES * (1 + job.recomputed_share) * targeted_weights(job)
    moving += passes(job) * job.shape.parameters * job.compute_bytes
    return max(computing + moving / bandwidth, _PASS_SECONDS + launching_seconds(job))


def _python_seconds(job: Job) -> float:
    """Return the seconds that Python itself takes for a pass on a CPU, whatever is computed."""
    adapted = sum(job.shape.linear_shapes[target].count for target in job.targets)
    layers = job.shape.layers * _LAYER_SECONDS + _ADAPTED_SECONDS * adapted
    return _PASS_SECONDS + layers * (1 + job.recomputed_share / 3)


def weight_traffic_bytes(job: Job) -> float:
    """Return the bytes of weights and gradients that a pass reads and writes.

    On a CPU, where nothing overlaps with it, 28 bytes per weight of a full fine-tune took 1.3 ns.
    """
    adding = 4 * job.load_bytes  # a new gradient written and read, the sum read and written
    return passes(job) * job.shape.parameters * job.load_bytes + adding * job.trainable


def forward_seconds(job: Job, hardware: HardwareFacts, tokens: float) -> float:
    """Return the seconds of one forward pass without a backward pass, as in an evaluation.

    The image tower runs in each such pass, trained or not.
    """
    if job.sight is None:
        return micro_seconds(job, hardware, tokens) / passes(job)
    seconds = micro_seconds(replace(job, sight=None), hardware, tokens) / passes(job)
    still = replace(job, sight=replace(job.sight, trains_tower=False))
    return seconds + seeing_operations(still) / _speed(job, hardware)


def generation_seconds(job: Job, hardware: HardwareFacts) -> float:
    """Return the seconds of generating a step's answers, all of the greatest length.

    The prompts go through the model together, then one token of each row at a time. They are read
    again after each round of calls.
    """
    if not job.answer_tokens:
        return 0.0
    bandwidth = _CPU_BYTES_PER_SECOND
    if hardware.kind != "cpu":
        bandwidth = (hardware.bandwidth_gb_s or 10 * _NOMINAL_TFLOPS) * 1e9
    token = token_seconds(job, rate=_speed(job, hardware), bytes_per_second=bandwidth)
    reading = (1 + job.tool_rounds) * forward_seconds(job, hardware, prefill_tokens(job))
    return reading + job.answer_tokens * token


def passes(job: Job) -> float:
    """Return the passes of a micro-batch, in forward passes.

    A backward pass costs two, and recomputing activations one more. A frozen base needs no
    gradients of its weights: its backward pass costs one. Layers before the first trained weight
    have a forward pass only.
    """
    return _count_passes(job, backward=2 if job.full else 1)


def _count_passes(job: Job, *, backward: int) -> float:
    """Return the passes if a backward pass costs this many forward passes."""
    behind = backward + job.recomputed_share
    if not job.frozen_layers:
        return 1 + behind
    return 1 + behind * job.backward_layers / job.shape.layers


def _moved_bytes(job: Job) -> float:
    """Return the bytes per layer and token that are moved between the products, of all passes.

    The bytes are the same for frozen weights: the inputs that a trained matrix stores are outputs
    of the layer anyway, and its gradient is one more product. Autocast's copies from fp32 count
    too.
    """
    frozen = replace(job, full=False, targets=()) if job.full and not job.mixed else job
    kept = mean_layer_bytes(frozen) - (adapter_bytes(frozen) if frozen.targets else 0)
    return _count_passes(job, backward=1) * kept


def operations(job: Job) -> float:
    """Return the floating-point operations per token of a micro-batch."""
    return product_operations(job) + attention_operations(job)


def product_operations(job: Job) -> float:
    """Return the operations per token of the products with weights.

    2 per weight and pass (arXiv 2001.08361, section 2.1), without embeddings, which are looked up.
    """
    looked_up = 0 if job.shape.tied else job.shape.embedding_parameters
    weights = 2 * (active_parameters(job) - looked_up + job.shape.repeated_parameters())
    adapter: float = 0 if job.full else 6 * job.trainable
    if job.dora and job.dropout:  # which multiplies with the base's weights once more
        adapter += 2 * passes(job) * targeted_weights(job)
    return weights * passes(job) + adapter


def _expert_seconds(job: Job, hardware: HardwareFacts, tokens: float) -> float:
    """Return the seconds that experts in fp32 take longer than in 16 bits.

    Autocast does not reach their grouped products (transformers' `integrations/moe.py`), and TF32
    is off.
    """
    shape, match = job.shape, find_accelerator(hardware.name)
    if not job.mixed or not shape.experts or match is None or not match.accelerator.fp32_tflops:
        return 0.0
    active = shape.expert_parameters * shape.experts_per_token / shape.experts
    slow = product_rate(replace(job, compute_bytes=_FP32), hardware)
    return 2 * active * passes(job) * tokens * (1 / slow - 1 / product_rate(job, hardware))


def seeing_operations(job: Job) -> float:
    """Return the floating-point operations of the tower for the images of a micro-batch.

    A frozen tower has a forward pass only. Attention is between the patches of one image.
    """
    sight = job.sight
    if sight is None:
        return 0.0
    tower = sight.tower
    weights = 2 * (tower.parameters + tower.projector_parameters / tower.merge**2)
    compared = 4 * sight.picture_patches * tower.hidden * tower.layers
    times = 1.0
    if sight.trains_tower:
        times += (1 if sight.adapts else 2) + job.recomputed_share
    return job.sequences * sight.mean_patches * (weights + compared) * times


def active_parameters(job: Job) -> int:
    """Return the parameters that one token uses; of the experts, only those it is routed to."""
    shape = job.shape
    if not shape.experts:
        return shape.parameters
    idle = shape.experts - shape.experts_per_token
    return shape.parameters - shape.expert_parameters * idle // shape.experts


def _speed(job: Job, hardware: HardwareFacts) -> float:
    """Return the operations per second of a process on this hardware."""
    if hardware.kind == "cpu":
        return cpu_rate(hardware) / max(1, hardware.count)
    return product_rate(job, hardware)


def cpu_rate(hardware: HardwareFacts) -> float:
    """Return the operations per second of all cores of a CPU."""
    return (hardware.cores or 1) * _CPU_FLOPS_PER_CORE


def product_rate(job: Job, hardware: HardwareFacts) -> float:
    """Return the operations per second that matrix products of this model reach."""
    hidden = job.shape.hidden
    peak = (rate(job, hardware) or _NOMINAL_TFLOPS) * 1e12
    return peak * _MATMUL_SHARE * hidden / (hidden + _HALF_RATE_HIDDEN)


def rate(job: Job, hardware: HardwareFacts) -> float | None:
    """Return the data sheet's dense rate in this precision, in 10^12 per second, where known.

    For a CPU the number of cores must be known, and the rate is rough.
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


def is_fitted(hardware: HardwareFacts) -> bool:
    """Return whether this is a card that the roofline was fitted to."""
    return _FITTED_CARD in hardware.name


def step_overhead_seconds(job: Job, hardware: HardwareFacts, micro: float) -> float:
    """Return the seconds of a step in addition to its micro-batches of `micro` seconds each."""
    if hardware.kind == "cpu":
        return _STEP_SECONDS
    step = _STEP_SECONDS + states_seconds(job, hardware) + exposed_seconds(job, hardware, micro)
    step += host_seconds(job, micro) + swap_seconds(job)
    if job.deepspeed:
        step += _DEEPSPEED_SECONDS
    if job.fsdp:
        step += 3 * _FETCH_SECONDS * job.shape.layers * job.accumulation
    return step


def exposed_seconds(job: Job, hardware: HardwareFacts, micro: float) -> float:
    """Return the seconds of communication per step that do not overlap with computing.

    A ring of N processes moves (N - 1) / N of what it reduces or gathers (NCCL). DDP and ZeRO-1
    reduce once a step, ZeRO-2 and ZeRO-3 after each micro-batch, since they keep no whole gradient;
    ZeRO-1 and ZeRO-2 gather the new weights after the step, ZeRO-3 all weights twice for each
    micro-batch (arXiv 1910.02054, section 7). FSDP is like ZeRO-3, with weights and gradients in
    the compute dtype. Both gather the weights once more for vLLM.
    """
    if job.world == 1:
        return 0.0
    gradients = job.trainable * trained_bytes(job)
    share = (job.world - 1) / job.world
    speed = link_speed(hardware)
    if job.gathers:
        if job.fsdp and job.full:
            gradients = job.trainable * job.compute_bytes
        moved = job.accumulation * (gradients + 2 * _gathered_bytes(job))
        sent = _gathered_bytes(job) if job.engine != "off" else 0
        passing = max(0.0, share * moved / speed - _HIDDEN * micro * job.accumulation)
        return passing + share * sent / speed
    reductions = job.accumulation if job.sharding == "zero2" else 1
    reducing = reductions * max(0.0, share * gradients / speed - _HIDDEN * micro)
    gathering = share * gradients / speed
    if not job.deepspeed:  # DDP's all-reduce is both, and overlaps as a whole
        return max(0.0, 2 * gathering - _HIDDEN * micro)
    return reducing + gathering


def states_seconds(job: Job, hardware: HardwareFacts) -> float:
    """Return the seconds of the optimizer's memory traffic, for this process's share of states.

    If the states are on the host, its CPU updates those of all processes. Paged states are assumed
    to move from and to the host, as they do when the device is full.
    """
    if job.states_on_host:
        return job.trainable / (_CPU_ADAMW * job.nodes)
    share = job.world if job.deepspeed or job.fsdp else 1
    bandwidth = (hardware.bandwidth_gb_s or 1000) * 1e9
    moved = _WEIGHT_TRAFFIC_BYTES + 2 * state_bytes(job, _FP32)
    paging = 2 * paged_bytes(job) / HOST_LINK
    return job.trainable * moved / share / bandwidth + paging


def host_seconds(job: Job, micro: float) -> float:
    """Return the seconds per step of copying offloaded states and weights from and to the host.

    Each process copies its share: gradients to the host after each micro-batch, and new weights
    back after the step (ZeRO-Offload, arXiv 2101.06840, section 4). Offloaded weights are read for
    each pass, while it computes. Inputs of recomputed layers are copied there and back.
    """
    moved = 0.0
    if job.states_on_host:
        moved = (job.accumulation + 1) * job.trainable * trained_bytes(job) / job.world
    step = moved / HOST_LINK
    # both copies are on the stream that computes (transformers' `activation_checkpointing_enable`)
    step += 2 * job.accumulation * input_host_bytes(job) / HOST_LINK
    if job.weights_on_host:
        reads = 2 + job.recomputed_share
        reading = reads * _gathered_bytes(job) / job.world / HOST_LINK
        step += job.accumulation * max(0.0, reading - _HIDDEN * micro)
    return step


def _gathered_bytes(job: Job) -> int:
    """Return the bytes of all weights that the processes gather."""
    if not job.full:
        return base_weights(job).shared_bytes
    return job.shape.parameters * (job.compute_bytes if job.fsdp else job.load_bytes)


def link_speed(hardware: HardwareFacts) -> float:
    """Return the bytes per second of a ring through all GPUs.

    Over several nodes it goes through each node's network once, which limits it if the network is
    slower than the links inside a node (NCCL's "bus bandwidth" is defined the same way).
    """
    inside = host_link_speed(hardware)
    if hardware.nodes == 1:
        return inside
    network = (hardware.network_gbit or ASSUMED_GBIT) * _BYTES_PER_GBIT * _NETWORK_SHARE
    return network if hardware.count == 1 else min(inside, network)


def host_link_speed(hardware: HardwareFacts) -> float:
    """Return the bytes per second of a ring between the GPUs of one host."""
    if hardware.link != "nvlink":
        return _PCIE_LINK
    capability = hardware.compute_capability
    if capability is None or capability >= _HOPPER:
        return _HOPPER_LINK
    if capability == _AMPERE_DATA_CENTRE:
        return _AMPERE_LINK
    return 2 * _BRIDGE_LINK if capability == _VOLTA else _BRIDGE_LINK
