"""The bytes that stay between steps: weights, adapters, gradients, optimizer states."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.job import Job, Optimizer
from ftc.compiler.plan.memory.passes import reference_bytes, teaching
from ftc.compiler.plan.memory.weights import base_weights

_BLOCK = 256  # bitsandbytes: values of a state per fp32 absmax
_LEAST_PAGED = 100_000  # `Optimizer8bit.get_state_buffer`: smaller states are plain tensors
_FACTORED_STEP_BYTES = 12  # the squared gradient and two products of it, of one matrix at a time
_SUB_GROUP = 10**9  # weights that ZeRO-3 steps at a time (`sub_group_size`)
_FP32 = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One optimizer: its `states` per weight, and the Trainer's name for it (`optim`).

    `eight_bit` states have one byte each; `wide` ones are fp32 whatever the dtype of the weight;
    `paged` ones may be moved off the device; a `factored` state has a value per row and column.
    """

    name: str
    states: int
    eight_bit: bool = False
    wide: bool = False
    paged: bool = False
    factored: bool = False


# transformers 5.23 `trainer_optimizer.py`; bitsandbytes 0.50 `optim/optimizer.py`.
RULES: Final[Mapping[Optimizer, Rule]] = {
    "adamw": Rule(name="adamw_torch_fused", states=2),
    "adamw-8bit": Rule(name="adamw_bnb_8bit", states=2, eight_bit=True, wide=True),
    "paged-adamw": Rule(name="paged_adamw_32bit", states=2, wide=True, paged=True),
    "paged-adamw-8bit": Rule(
        name="paged_adamw_8bit", states=2, eight_bit=True, wide=True, paged=True
    ),
    "lion": Rule(name="lion_32bit", states=1, wide=True),
    "lion-8bit": Rule(name="lion_8bit", states=1, eight_bit=True, wide=True),
    "paged-lion": Rule(name="paged_lion_32bit", states=1, wide=True, paged=True),
    "paged-lion-8bit": Rule(
        name="paged_lion_8bit", states=1, eight_bit=True, wide=True, paged=True
    ),
    "adafactor": Rule(name="adafactor", states=1, wide=True, factored=True),
    "sgd": Rule(name="sgd", states=0),
}


def static_bytes(job: Job) -> int:
    """Return the bytes of weights and optimizer states that stay between steps.

    Full: weights, frozen or not, and the optimizer's states, two moments in the weights' dtype
    under AdamW. LoRA: the frozen base, and adapters with their states. A reference model or a
    teacher is here too. DeepSpeed: 16-bit weights, and an fp32 master with two moments divided
    among the processes; ZeRO-3 divides the weights as well (arXiv 1910.02054, section 5); what is
    offloaded is not here. FSDP divides all that are parameters; an adapter's gradient is part of a
    flat parameter there and stays.
    """
    base = base_weights(job)
    if job.full:
        width = job.frozen_bytes or job.load_bytes
        parameters = job.shape.parameters + job.shape.frozen_parameters
        frozen, whole = (parameters - job.trainable) * width, 0
    else:
        frozen, whole = base.shared_bytes, base.whole_bytes
    frozen += reference_bytes(job)
    if (taught := teaching(job)) is not None:
        teacher = base_weights(taught)
        frozen, whole = frozen + teacher.shared_bytes, whole + teacher.whole_bytes
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


def optimizer_bytes(job: Job) -> int:
    """Return the bytes of `static_bytes` that the optimizer holds: its states, and masters.

    The fp32 masters are DeepSpeed's. The rest of `static_bytes` are weights and a workspace.
    """
    if job.deepspeed:
        return 0 if job.states_on_host else round(job.trainable * master_bytes(job)) // job.world
    states = moment_bytes(job, trained_bytes(job))
    if job.fsdp and job.weights_on_host:
        return 0
    return states // job.world if job.fsdp and not job.stack.whole_adapters else states


def gradient_bytes(job: Job) -> int:
    """Return the bytes of all gradients of the trained weights, after a backward pass."""
    whole = job.trainable * trained_bytes(job)
    if job.sharding == "ddp":
        return whole + reducer_bytes(job)
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


def reducer_bytes(job: Job) -> int:
    """Return the bytes of DDP's buckets, a second copy of the gradients, which stays between steps.

    Torch's `Reducer` allocates them when the model is wrapped. Gradients are no views of them by
    default (`gradient_as_bucket_view`).
    """
    return job.trainable * trained_bytes(job) if job.sharding == "ddp" else 0


def _kept_gradients(job: Job, whole: int) -> int:
    """Return the bytes of gradients that a DeepSpeed process keeps: all, its share, or none.

    ZeRO-1 keeps all until it reduces them at the step; ZeRO-2 and ZeRO-3 reduce each bucket at
    once, into the host's memory if the optimizer runs there (`stage_1_and_2.py`, `stage3.py`).
    """
    if job.sharding == "zero1":
        return whole
    return 0 if job.states_on_host else whole // job.world


def bucket_bytes(job: Job) -> int:
    """Return the bytes of one of DeepSpeed's two buckets: one fills while the other is reduced."""
    return min(job.stack.bucket_elements, job.trainable) * trained_bytes(job)


def earlier_bytes(job: Job) -> int:
    """Return the bytes of gradients of earlier micro-batches, and of DDP's buckets at any time.

    Published runs of FSDP accumulate without synchronising, so each process has whole gradients in
    the compute dtype (accelerate's `no_sync`; measured on 2, 4 and 8 GPUs). In a bundle they are
    reduced after every pass.
    """
    if job.accumulation == 1:
        return reducer_bytes(job)
    if job.fsdp and job.full and job.stack.deferred_reduction:
        return job.trainable * job.compute_bytes
    return gradient_bytes(job)


def trained_bytes(job: Job) -> int:
    """Return the bytes of one trained weight on the device.

    Adapters are fp32, but not under DeepSpeed; QLoRA's are always bf16.
    """
    if job.full:
        return job.load_bytes
    if job.deepspeed:
        narrow = job.storage != "plain"
        return min(job.load_bytes, job.stack.adapter_bytes) if narrow else job.load_bytes
    return job.stack.adapter_bytes


def step_copies(job: Job) -> int:
    """Return the bytes of copies that the optimizer step makes.

    These are the copies of the optimizer itself and, under DeepSpeed, an fp32 copy of its share of
    the gradients, one sub-group at a time under ZeRO-3 (`step` of `stage_1_and_2.py`, `stage3.py`).
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


def moment_bytes(job: Job, trained_bytes: int) -> int:
    """Return the bytes of the optimizer states of all trained weights on the device.

    `trained_bytes` is the width of a trained weight, which AdamW's moments share. Transformers'
    Trainer keeps the states of an embedding in fp32 under an eight-bit optimizer.
    """
    rule = RULES[job.optimizer]
    if rule.factored:
        return _FP32 * _factored(job)
    return (
        round(job.trainable * state_bytes(job, trained_bytes)) + _override(job) - paged_bytes(job)
    )


def state_bytes(job: Job, trained_bytes: int) -> float:
    """Return the bytes of all states of one trained weight in a flat tensor."""
    rule = RULES[job.optimizer]
    if rule.eight_bit:
        return rule.states * (1 + _FP32 / _BLOCK)
    return rule.states * (_FP32 if rule.wide else trained_bytes)


def master_bytes(job: Job) -> float:
    """Return the bytes that DeepSpeed keeps per trained weight: an fp32 master and its states.

    Source: arXiv 1910.02054, section 3.1. The master is a flat tensor, so no state is factored, and
    is large enough for all of its states to be paged.
    """
    return _FP32 + (0 if RULES[job.optimizer].paged else state_bytes(job, _FP32))


def paged_bytes(job: Job) -> int:
    """Return the bytes of paged states: those of tensors that are large enough.

    They are in CUDA's unified memory, outside torch's allocator, and move when the device is full.
    """
    rule = RULES[job.optimizer]
    if not rule.paged:
        return 0
    if job.deepspeed:
        return round(job.trainable * state_bytes(job, _FP32)) // job.world
    sizes = ((each.count, each.stacked * each.rows * each.columns) for each in _tensors(job))
    large = sum(count * size for count, size in sizes if size >= _LEAST_PAGED)
    large = min(large, job.trainable)
    scale = _FP32 / _BLOCK * rule.states if rule.eight_bit else 0.0
    return round(large * (state_bytes(job, _FP32) - scale)) + _override(job)


def step_bytes(job: Job, trained_bytes: int) -> int:
    """Return the bytes that a step allocates in addition to gradients and states.

    A foreach AdamW copies the weights (a fused one works in place), plain SGD adds the weight decay
    to a copy of the gradients, Adafactor makes fp32 tensors as large as one weight at a time, which
    all experts of a layer are, and copies of a narrow weight and its gradient.
    """
    whole = job.trainable * trained_bytes
    if job.optimizer == "adamw":
        return whole * job.stack.step_copies
    if job.optimizer == "sgd":
        return whole
    if not RULES[job.optimizer].factored:
        return 0
    largest = max((each.stacked * each.rows * each.columns for each in _tensors(job)), default=0)
    narrow = 2 * _FP32 if trained_bytes < _FP32 else 0
    return largest * (_FACTORED_STEP_BYTES + narrow)


def _override(job: Job) -> int:
    """Return how many more bytes the states of a trained embedding take than eight-bit ones."""
    rule, shape = RULES[job.optimizer], job.shape
    if not (rule.eight_bit and job.embedding_moves):
        return 0
    wide = rule.states * _FP32
    return round(shape.embedding_parameters * (wide - rule.states * (1 + _FP32 / _BLOCK)))


def _factored(job: Job) -> int:
    """Return the number of values of factored states: per row and column, all of a vector."""
    tensors = tuple(_tensors(job))
    inside = sum(each.count * each.stacked * each.rows * each.columns for each in tensors)
    sides = sum(each.count * each.stacked * (each.rows + each.columns) for each in tensors)
    return sides + max(0, job.trainable - inside)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tensors:
    """A number of trained weights of one size, each of them `stacked` matrices."""

    count: int
    rows: int
    columns: int
    stacked: int = 1


def _tensors(job: Job) -> Iterator[_Tensors]:
    """Yield the trained matrices. Those of all experts of a layer are one weight."""
    shape = job.shape
    if not job.full:
        for name in job.targets:
            kind = shape.linear_shapes[name]
            yield _Tensors(count=kind.count, rows=job.rank, columns=kind.in_features)
            yield _Tensors(count=kind.count, rows=kind.out_features, columns=job.rank)
        if job.saved_parameters:
            rows = job.saved_parameters // shape.hidden
            yield _Tensors(count=1, rows=rows, columns=shape.hidden)
        return
    layers = job.backward_layers
    for kind in shape.linear_shapes.values():
        count = kind.count * layers // shape.layers
        yield _Tensors(count=count, rows=kind.out_features, columns=kind.in_features)
    if shape.experts:
        count, inner = shape.sparse_layers() * layers // shape.layers, shape.expert_intermediate
        experts = shape.experts
        yield _Tensors(count=count, stacked=experts, rows=2 * inner, columns=shape.hidden)
        yield _Tensors(count=count, stacked=experts, rows=shape.hidden, columns=inner)
    if job.embedding_moves:
        rows = shape.embedding_parameters // shape.hidden
        yield _Tensors(count=1, rows=rows, columns=shape.hidden)
    if shape.head_parameters and job.head_moves:
        yield _Tensors(count=1, rows=shape.head_parameters // shape.hidden, columns=shape.hidden)
