"""What stays between steps: weights, adapters, optimizer states and gradients, in bytes."""

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.weights import base_weights

_DDP_COPIES = 1  # DDP's buckets are a second copy of the gradients (torch DDP, default views)
_MASTER_BYTES = 12  # DeepSpeed: fp32 master and two fp32 moments (arXiv 1910.02054, section 3.1)
# bitsandbytes `Optimizer2State`: a byte per moment, and an fp32 absmax per 256 of each
_MOMENTS_8BIT = 2 + 2 * 4 / 256


def static_bytes(job: Job) -> int:
    """Weights and optimizer states that stay between steps.

    Full: weights and two AdamW moments in the weights' dtype. LoRA: the frozen base, and fp32
    adapters with their moments (PEFT casts adapters up). DeepSpeed: 16-bit weights, and an fp32
    master with two moments divided among the processes; ZeRO-3 divides the weights as well
    (arXiv 1910.02054, section 5). FSDP divides all that are parameters; an adapter's gradient is
    part of a flat parameter there and stays.
    """
    base = base_weights(job)
    if job.full:
        frozen, whole = 0, 0
    else:
        frozen, whole = base.shared_bytes, base.whole_bytes
    trainable, world = job.trainable, job.world
    if job.sharding == "zero3":
        shared = frozen + trainable * (job.load_bytes + _MASTER_BYTES)
        return shared // world + whole + job.workspace_bytes
    if job.sharding == "zero2":
        held = frozen + whole + trainable * job.load_bytes
        return held + trainable * _MASTER_BYTES // world + job.workspace_bytes
    states = trainable * trained_bytes(job) + moment_bytes(job)
    if job.fsdp:
        kept = states + (0 if job.full else trainable * trained_bytes(job))
        if job.stack.whole_adapters:
            return frozen // world + whole + kept + job.workspace_bytes
        return (frozen + kept) // world + whole + job.workspace_bytes
    return frozen + whole + states + job.workspace_bytes


def moment_bytes(job: Job) -> int:
    """Return AdamW's two moments of all trained weights, in their dtype or in 8 bits."""
    if job.optimizer == "adamw-8bit":
        return round(job.trainable * _MOMENTS_8BIT)
    return 2 * job.trainable * trained_bytes(job)


def gradient_bytes(job: Job) -> int:
    """Gradients of the trained weights, once a backward pass has filled them all."""
    whole = job.trainable * trained_bytes(job)
    if job.sharding == "ddp":
        return whole * (1 + _DDP_COPIES)
    if job.fsdp:
        return whole // job.world if job.full else 0
    if job.deepspeed:
        bucket = min(job.stack.bucket_elements, job.trainable) * trained_bytes(job)
        return whole // job.world + 2 * bucket  # one bucket fills while another is reduced
    return whole


def earlier_bytes(job: Job) -> int:
    """Return the gradients that are there before a backward pass: those of earlier micro-batches.

    FSDP accumulates without synchronising, so they are whole on each process, in the dtype that is
    computed in (accelerate's `no_sync`; measured on 2, 4 and 8 GPUs).
    """
    if job.accumulation == 1:
        return 0
    if job.fsdp and job.full:
        return job.trainable * job.compute_bytes
    return gradient_bytes(job)


def trained_bytes(job: Job) -> int:
    """Bytes of one trained weight on the device: adapters are fp32, DeepSpeed's are not."""
    if job.full or job.deepspeed:
        return job.load_bytes
    return job.stack.adapter_bytes


def step_copies(job: Job) -> int:
    """Return what the optimizer step copies beside states and gradients (foreach AdamW does)."""
    whole = job.trainable * trained_bytes(job) * job.stack.step_copies
    return whole // job.world if job.deepspeed or job.fsdp else whole
