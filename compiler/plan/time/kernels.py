"""What a pass costs beside its matrix products: attention, adapters, and the host's work.

Rates and times are from an H200 (`benchmarks/gpu/ledger.json`, `benchmarks/gpu/attention.py`).
"""

from typing import Final

from ftc.compiler.knowledge.architecture import repeats_keys
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.attention import saves_attention
from ftc.compiler.resolve.facts import HardwareFacts

_HOPPER: Final = 9.0
# Shares of the data sheet's rate that PyTorch's kernels reach with heads of 128. FlashAttention-2
# computes half of the scores. With a mask (of packed rows, or of padding) it cannot be used, and a
# slower kernel computes all of them. Both use instructions of the generation before Hopper's; what
# that generation reaches is assumed to be as much in operations per second, for its size.
_HOPPER_FLASH, _HOPPER_MASKED = 0.27, 0.12
_MASKED: Final = 0.26
_UNFUSED: Final = 3.0  # times as long as with a mask, where no fused kernel supports the heads
_WIDE_HEAD: Final = 128
_NARROW_RATE: Final = 0.2  # of the rate is reached by very narrow heads: 0.6 of it at 64
# Bytes per feature and token that PEFT moves for an adapter, forward and backward: the input is
# cast to fp32, dropped, and cast to 16 bits by autocast, and so are its gradients; the product is
# scaled and added. In an 8B LoRA on 4,096 tokens all that is no matrix product and no attention
# took 120 of 360 ms, 92 of them by these numbers. QLoRA's adapters, which are in 16 bits, need
# fewer casts: nobody measured them, so they count alike.
_INPUT_BYTES, _OUTPUT_BYTES = 60, 24
_UNDROPPED: Final = 0.5  # of the input's bytes without dropout
# The host's time of a pass, forward and backward, per layer and adapted module: 0.107 to 0.118 s
# of a step for 24 layers, 0.27 s of a pass for 32 layers with 224 adapters. A pass takes as long if
# its kernels are faster.
_LAYER_SECONDS, _ADAPTED_SECONDS = 0.003, 0.0006
_QUANTIZED_SECONDS: Final = 0.00015  # for each module in 4 or 8 bits besides: an assumption


def attention_operations(job: Job) -> float:
    """Return the operations of attention per token: scores and values of half the row on average.

    The backward pass takes 2.5 times as many.
    """
    shape = job.shape
    attended = job.attended_tokens or job.length_tokens
    forward = 2 * attended * shape.heads * shape.head_dim * shape.attention_layers()
    reached = job.backward_layers / shape.layers
    selective = job.checkpointing == "selective" and saves_attention(job)
    recomputed = 0 if selective else reached * job.recomputed_share
    return forward * (1 + 2.5 * reached + recomputed)


def attention_seconds(
    job: Job, hardware: HardwareFacts, tokens: float, *, peak: float, products: float
) -> float:
    """Return the seconds of attention in a micro-batch of so many tokens on a GPU.

    `peak` and `products` are operations per second: of the data sheet, and of matrix products.
    """
    is_hopper = (hardware.compute_capability or 0.0) >= _HOPPER
    operations = attention_operations(job) * tokens
    narrow = min(1.0, job.shape.head_dim / _WIDE_HEAD)
    narrow = _NARROW_RATE + (1 - _NARROW_RATE) * narrow
    masked = 2 * operations / (peak * narrow * (_HOPPER_MASKED if is_hopper else _MASKED))
    if job.attention == "eager" or (job.attention == "sdpa" and not repeats_keys(job.shape)):
        return _UNFUSED * masked
    if job.attention == "sdpa" and (job.masked or job.windowed):
        return masked
    flash = peak * narrow * _HOPPER_FLASH if is_hopper else products
    return operations / min(flash, products)


def adapter_traffic(job: Job) -> float:
    """Return the bytes that all adapters move per token, forward and backward."""
    if not job.targets or job.stack.fused_adapters or job.stack.joint_projections:
        return 0.0
    each = _INPUT_BYTES * (1 if job.dropout else _UNDROPPED)
    linears = [job.shape.linear_shapes[name] for name in job.targets]
    moved = sum(x.count * (each * x.in_features + _OUTPUT_BYTES * x.out_features) for x in linears)
    return moved * (1 + job.recomputed_share / 3)


def launching_seconds(job: Job) -> float:
    """Return the seconds in which the host launches the kernels of a pass."""
    adapted = sum(job.shape.linear_shapes[target].count for target in job.targets)
    seconds = job.shape.layers * _LAYER_SECONDS + _ADAPTED_SECONDS * adapted
    if job.storage != "plain":
        seconds += _QUANTIZED_SECONDS * sum(x.count for x in job.shape.linear_shapes.values())
    return seconds * (1 + job.recomputed_share / 3)
