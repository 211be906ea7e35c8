"""What a step costs beside its micro-batches: communication, the optimiser, offloaded states."""

from typing import Final

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.optimizer import paged_bytes, state_bytes
from ftc.compiler.plan.states import trained_bytes
from ftc.compiler.plan.swap import swap_seconds
from ftc.compiler.plan.weights import base_weights
from ftc.compiler.resolve.facts import HardwareFacts

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
_HOST_LINK: Final = 16e9  # of pinned host memory and one GPU, PCIe of the fourth generation
# DeepSpeed's CPU AdamW, parameters per second of one host: Qwen2.5-3B on two A100 takes steps of
# 2.4 to 3.1 s on 128 cores (deepspeedai/DeepSpeed, tutorial of ZeRO-Offload), most of it this.
_CPU_ADAMW: Final = 1.5e9
_WEIGHT_TRAFFIC_BYTES: Final = 12  # an fp32 weight read and written, its gradient read
_STEP_SECONDS: Final = 0.02  # per optimiser step: data loader, logging
_DEEPSPEED_SECONDS: Final = 0.02  # per step: its engine's bookkeeping; an assumption
_FETCH_SECONDS: Final = 0.0005  # per layer and pass: hooks of ZeRO-3 and FSDP; an assumption
_HIDDEN: Final = 0.5  # share of a micro-batch beside which communication runs


def step_overhead_seconds(job: Job, hardware: HardwareFacts, micro: float) -> float:
    """Return the seconds of an optimiser step beside its micro-batches of `micro` seconds each."""
    if hardware.kind == "cpu":
        return _STEP_SECONDS
    step = _STEP_SECONDS + states_seconds(job, hardware) + exposed_seconds(job, hardware, micro)
    step += host_seconds(job, micro) + swap_seconds(job)
    if job.deepspeed:
        step += _DEEPSPEED_SECONDS
    if job.gathers:
        step += 3 * _FETCH_SECONDS * job.shape.layers * job.accumulation
    return step


def exposed_seconds(job: Job, hardware: HardwareFacts, micro: float) -> float:
    """Return the seconds of communication per step that computing does not hide.

    Of N processes a ring moves (N - 1) / N of what it reduces or gathers (NCCL). DDP and ZeRO-1
    reduce once a step, ZeRO-2 and ZeRO-3 after each micro-batch, since they keep no whole gradient;
    ZeRO-1 and ZeRO-2 gather the new weights after the step, ZeRO-3 all weights twice for each
    micro-batch (arXiv 1910.02054, section 7). FSDP does as ZeRO-3 does, with weights and gradients
    as wide as what is computed in.
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
        return max(0.0, share * moved / speed - _HIDDEN * micro * job.accumulation)
    reductions = job.accumulation if job.sharding == "zero2" else 1
    reducing = reductions * max(0.0, share * gradients / speed - _HIDDEN * micro)
    gathering = share * gradients / speed
    if not job.deepspeed:  # DDP's all-reduce is both, and overlaps as a whole
        return max(0.0, 2 * gathering - _HIDDEN * micro)
    return reducing + gathering


def states_seconds(job: Job, hardware: HardwareFacts) -> float:
    """Return the seconds of the optimiser's traffic, of this process's share of the states.

    Where the states are on the host its processors update those of all processes. Paged states are
    taken to come from the host and to go back, which they do when the device is full.
    """
    if job.states_on_host:
        return job.trainable / (_CPU_ADAMW * job.nodes)
    share = job.world if job.deepspeed or job.fsdp else 1
    bandwidth = (hardware.bandwidth_gb_s or 1000) * 1e9
    moved = _WEIGHT_TRAFFIC_BYTES + 2 * state_bytes(job, _FP32)
    paging = 2 * paged_bytes(job) / _HOST_LINK
    return job.trainable * moved / share / bandwidth + paging


def host_seconds(job: Job, micro: float) -> float:
    """Return the seconds per step that offloaded states and weights travel to and from the host.

    Each process moves its share: gradients down after each micro-batch and new weights up after the
    step (ZeRO-Offload, arXiv 2101.06840, section 4); offloaded weights are read for each pass,
    beside its computing.
    """
    moved = 0.0
    if job.states_on_host:
        moved = (job.accumulation + 1) * job.trainable * trained_bytes(job) / job.world
    step = moved / _HOST_LINK
    if job.weights_on_host:
        reads = 3 if job.checkpointing else 2
        reading = reads * _gathered_bytes(job) / job.world / _HOST_LINK
        step += job.accumulation * max(0.0, reading - _HIDDEN * micro)
    return step


def _gathered_bytes(job: Job) -> int:
    """Return what all weights take while they are whole on a device, as they travel."""
    if not job.full:
        return base_weights(job).shared_bytes
    return job.shape.parameters * (job.compute_bytes if job.fsdp else job.load_bytes)


def link_speed(hardware: HardwareFacts) -> float:
    """Return the bytes per second of a ring through all GPUs.

    Over several nodes it goes through each node's network once, which is what bounds it where that
    is slower than the links inside (NCCL's "bus bandwidth" counts in the same way).
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
