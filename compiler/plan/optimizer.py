"""What each optimiser keeps of a trained weight, where it keeps it, and what its step allocates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.job import Job, Optimizer

_FP32 = 4
_BLOCK = 256  # bitsandbytes: values of a state per fp32 absmax
_LEAST_PAGED = 100_000  # `Optimizer8bit.get_state_buffer`: smaller states are plain tensors
_FACTORED_STEP_BYTES = 12  # the squared gradient and two products of it, of one matrix at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One optimiser: `states` per weight, and the Trainer's name for it (`optim`).

    `eight_bit` states are a byte each, and `wide` ones fp32 whatever the weight is in; `paged` ones
    may leave the device; a `factored` state has a value per row and column.
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


def moment_bytes(job: Job, trained_bytes: int) -> int:
    """Return the optimiser states of all trained weights that stay on the device.

    `trained_bytes` is the width of a trained weight, which AdamW's moments share. Transformers'
    Trainer keeps the states of an embedding in fp32 under an eight-bit optimiser.
    """
    rule = RULES[job.optimizer]
    if rule.factored:
        return _FP32 * _factored(job)
    return (
        round(job.trainable * state_bytes(job, trained_bytes)) + _override(job) - paged_bytes(job)
    )


def state_bytes(job: Job, trained_bytes: int) -> float:
    """Return the bytes of all states of one trained weight, as an optimiser sees a flat tensor."""
    rule = RULES[job.optimizer]
    if rule.eight_bit:
        return rule.states * (1 + _FP32 / _BLOCK)
    return rule.states * (_FP32 if rule.wide else trained_bytes)


def master_bytes(job: Job) -> float:
    """Return what DeepSpeed keeps of a trained weight: an fp32 master, and states of that.

    arXiv 1910.02054, section 3.1. The master is a flat tensor, so that nothing is factored, and
    large enough for all of its states to be paged.
    """
    return _FP32 + (0 if RULES[job.optimizer].paged else state_bytes(job, _FP32))


def paged_bytes(job: Job) -> int:
    """Return the states that leave the device when it is full: those of large enough tensors.

    They are in CUDA's unified memory, outside torch's allocator.
    """
    rule = RULES[job.optimizer]
    if not rule.paged:
        return 0
    if job.deepspeed:
        return round(job.trainable * state_bytes(job, _FP32)) // job.world
    large = sum(
        count * rows * columns
        for count, rows, columns in _matrices(job)
        if rows * columns >= _LEAST_PAGED
    )
    large = min(large, job.trainable)
    scale = _FP32 / _BLOCK * rule.states if rule.eight_bit else 0.0
    return round(large * (state_bytes(job, _FP32) - scale)) + _override(job)


def step_bytes(job: Job, trained_bytes: int) -> int:
    """Return what a step allocates beside gradients and states.

    A foreach AdamW copies the weights (a fused one works in place), plain SGD adds the weight decay
    to a copy of the gradients, Adafactor makes fp32 tensors of one matrix at a time, and copies of
    a narrow weight and its gradient.
    """
    whole = job.trainable * trained_bytes
    if job.optimizer == "adamw":
        return whole * job.stack.step_copies
    if job.optimizer == "sgd":
        return whole
    if not RULES[job.optimizer].factored:
        return 0
    largest = max((rows * columns for _, rows, columns in _matrices(job)), default=0)
    narrow = 2 * _FP32 if trained_bytes < _FP32 else 0
    return largest * (_FACTORED_STEP_BYTES + narrow)


def _override(job: Job) -> int:
    """Return what the states of a trained embedding take more than eight bits."""
    rule, shape = RULES[job.optimizer], job.shape
    if not (rule.eight_bit and job.full and not job.frozen_layers):
        return 0
    wide = rule.states * _FP32
    return round(shape.embedding_parameters * (wide - rule.states * (1 + _FP32 / _BLOCK)))


def _factored(job: Job) -> int:
    """Return the values of factored states: rows and columns of matrices, and all of vectors."""
    inside = sum(count * rows * columns for count, rows, columns in _matrices(job))
    sides = sum(count * (rows + columns) for count, rows, columns in _matrices(job))
    return sides + max(0, job.trainable - inside)


def _matrices(job: Job) -> Iterator[tuple[int, int, int]]:
    """Yield (count, rows, columns) of the trained matrices; expert by expert as they are used."""
    shape = job.shape
    if not job.full:
        for name in job.targets:
            kind = shape.linear_shapes[name]
            yield kind.count, job.rank, kind.in_features
            yield kind.count, kind.out_features, job.rank
        if job.saved_parameters:
            yield 1, job.saved_parameters // shape.hidden, shape.hidden
        return
    layers = job.backward_layers
    for kind in shape.linear_shapes.values():
        yield kind.count * layers // shape.layers, kind.out_features, kind.in_features
    if shape.experts:
        count = shape.experts * layers
        yield count, 2 * shape.expert_intermediate, shape.hidden
        yield count, shape.hidden, shape.expert_intermediate
    if not job.frozen_layers:
        yield 1, shape.embedding_parameters // shape.hidden, shape.hidden
    if shape.head_parameters and job.head_moves:
        yield 1, shape.head_parameters // shape.hidden, shape.hidden
