"""What stays between steps: weights, adapters, optimizer states and gradients, in bytes."""

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.objective import reference_bytes
from ftc.compiler.plan.optimizer import master_bytes, moment_bytes, step_bytes
from ftc.compiler.plan.weights import base_weights

_DDP_COPIES = 1  # DDP's buckets are a second copy of the gradients (torch DDP, default views)
_SUB_GROUP = 10**9  # weights that ZeRO-3 steps at a time (`sub_group_size`)
_FP32 = 4


def static_bytes(job: Job) -> int:
    """Weights and optimizer states that stay between steps.

    Full: weights, frozen or not, and the optimiser's states, two moments in the weights' dtype
    under AdamW. LoRA: the frozen base, and adapters with their states. A reference model is here
    too. DeepSpeed: 16-bit weights, and an fp32 master with two moments divided among
    the processes; ZeRO-3 divides the weights as well (arXiv 1910.02054, section 5); what is
    offloaded is not here. FSDP divides all that are parameters; an adapter's gradient is part of a
    flat parameter there and stays.
    """
    base = base_weights(job)
    if job.full:
        frozen, whole = (job.shape.parameters - job.trainable) * job.load_bytes, 0
    else:
        frozen, whole = base.shared_bytes, base.whole_bytes
    frozen += reference_bytes(job)
    trainable, world = job.trainable, job.world
    if job.deepspeed:
        weights = frozen + trainable * trained_bytes(job)
        if job.sharding == "zero3":
            weights = 0 if job.weights_on_host else weights // world
        masters = 0 if job.states_on_host else round(trainable * master_bytes(job)) // world
        return weights + whole + masters + job.workspace_bytes
    states = trainable * trained_bytes(job) + moment_bytes(job, trained_bytes(job))
    if job.fsdp:
        if job.weights_on_host:
            return whole + job.workspace_bytes
        kept = states + (0 if job.full else trainable * trained_bytes(job))
        if job.stack.whole_adapters:
            return frozen // world + whole + kept + job.workspace_bytes
        return (frozen + kept) // world + whole + job.workspace_bytes
    return frozen + whole + states + job.workspace_bytes


def gradient_bytes(job: Job) -> int:
    """Gradients of the trained weights, once a backward pass has filled them all."""
    whole = job.trainable * trained_bytes(job)
    if job.sharding == "ddp":
        return whole * (1 + _DDP_COPIES)
    if job.fsdp and not job.full:
        # outside FSDP's shards fused adapters gather fp32 gradients of their own through a backward
        # pass: 4.0 bytes per weight in all 30 published runs, 7B and 70B, on 2 and 4 GPUs
        apart = job.stack.whole_adapters and job.stack.fused_adapters
        return job.trainable * _FP32 if apart else 0
    if job.fsdp:
        return 0 if job.weights_on_host else whole // job.world
    if job.deepspeed:
        return _kept_gradients(job, whole) + 2 * bucket_bytes(job)
    return whole


def _kept_gradients(job: Job, whole: int) -> int:
    """Return what a DeepSpeed process keeps of the gradients: all, its share, or nothing.

    ZeRO-1 keeps all until they are reduced at the step; ZeRO-2 and ZeRO-3 reduce each bucket at
    once, into the host's memory where the optimizer is there (`stage_1_and_2.py`, `stage3.py`).
    """
    if job.sharding == "zero1":
        return whole
    return 0 if job.states_on_host else whole // job.world


def bucket_bytes(job: Job) -> int:
    """Return one of DeepSpeed's two buckets: one fills while the other is reduced."""
    return min(job.stack.bucket_elements, job.trainable) * trained_bytes(job)


def earlier_bytes(job: Job) -> int:
    """Return the gradients that are there before a backward pass: those of earlier micro-batches.

    Published runs of FSDP accumulate without synchronising, so they are whole on each process, in
    the dtype that is computed in (accelerate's `no_sync`; measured on 2, 4 and 8 GPUs). A bundle's
    are reduced after every pass.
    """
    if job.accumulation == 1:
        return 0
    if job.fsdp and job.full and job.stack.deferred_reduction:
        return job.trainable * job.compute_bytes
    return gradient_bytes(job)


def trained_bytes(job: Job) -> int:
    """Bytes of one trained weight on the device: adapters are fp32, DeepSpeed's are not.

    QLoRA's are bf16 whatever the rest is in.
    """
    if job.full:
        return job.load_bytes
    if job.deepspeed:
        narrow = job.storage != "plain"
        return min(job.load_bytes, job.stack.adapter_bytes) if narrow else job.load_bytes
    return job.stack.adapter_bytes


def step_copies(job: Job) -> int:
    """Return what the optimizer step copies beside states and gradients.

    What the optimiser itself makes, and under DeepSpeed its share of the gradients in fp32, a
    sub-group at a time under ZeRO-3 (`step` of `stage_1_and_2.py`, `stage3.py`).
    """
    whole = step_bytes(job, trained_bytes(job))
    if job.fsdp:
        return 0 if job.weights_on_host else whole // job.world
    if not job.deepspeed:
        return whole
    share = job.trainable // job.world
    if job.sharding == "zero3":
        share = min(share, _SUB_GROUP)
    return whole // job.world + (0 if job.states_on_host else share * _FP32)
