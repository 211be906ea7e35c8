"""The cost of a pass besides its matrix products: attention, adapters and launching kernels.

The rates and times were measured on an H200 (`benchmarks/README.md`).
"""

from typing import Final

from ftc.compiler.knowledge.architectures.architecture import repeats_keys
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.attention import saves_attention
from ftc.compiler.resolve.facts import HardwareFacts

_HOPPER: Final = 9.0
# The share of the data sheet's rate that PyTorch's attention kernels reach with heads of 128.
# FlashAttention-2 computes only the half of the scores that a causal model uses. It takes no mask,
# so packed or padded rows get a slower kernel, which computes all scores. Neither kernel uses
# Hopper's own instructions. The share on older cards is an assumption, scaled from these.
_HOPPER_FLASH, _HOPPER_MASKED = 0.27, 0.12
_MASKED: Final = 0.26
_UNFUSED: Final = 3.0  # without a fused kernel attention takes 3 times as long as with a mask
_WIDE_HEAD: Final = 128
_NARROW_RATE: Final = 0.2  # the limit for very narrow heads; heads of 64 reach 0.6 of the rate
# Bytes that an adapter moves per input and output feature and token, forward and backward. PEFT
# casts the input to fp32, applies dropout, and autocast casts the result to 16 bits; the gradients
# take the same way back. The product is scaled and added. In an 8B LoRA on 4,096 tokens, everything
# except matrix products and attention took 120 of 360 ms; these bytes explain 92 of them. QLoRA's
# adapters are in 16 bits and need fewer casts, but were never measured, so they count the same.
_INPUT_BYTES, _OUTPUT_BYTES = 60, 24
_UNDROPPED: Final = 0.5  # the share of the input's bytes that is left without dropout
# Seconds that the host needs to launch the kernels of a forward and backward pass, per layer and
# per adapted module; a pass never takes less. Measured: short steps of 24 layers took 0.107 to
# 0.118 s, and short passes of a LoRA with 32 layers and 224 adapters took 0.27 s.
_LAYER_SECONDS, _ADAPTED_SECONDS = 0.003, 0.0006
_QUANTIZED_SECONDS: Final = 0.00015  # added for each module in 4 or 8 bits; an assumption
# Seconds that ZeRO-3's hooks take per module and pass. They are Python code that gathers and
# releases the weights of the module. DeepSpeed puts them on all modules
# (`_register_deepspeed_module` in `parameter_offload.py`). Measured with DeepSpeed 0.19.8 in one
# process on a server's CPU, as the processor time beyond that of ZeRO-1, for Llamas of 4 and 12
# layers and hidden size 64: 2.9 ms per pass for a layer of 13 modules, and 7.6 ms for one of 41
# modules, which is a layer with adapters on all linears.
_HOOKED_SECONDS: Final = 0.0002
# A layer's modules beside its linears: itself, attention, MLP, activation and two norms.
_PLAIN_MODULES: Final = 6
# Those of an adapted linear beside itself: its base, the dropout and two matrices.
_ADAPTER_MODULES: Final = 4


def attention_operations(job: Job) -> float:
    """Return the operations of attention per token: scores and values of half the row on average.

    The backward pass takes 2.5 times as many.
    """
    shape = job.shape
    attended = job.attended_tokens or job.length_tokens
    forward = 2 * attended * shape.heads * shape.head_dim * shape.attention_layers()
    forward *= shape.passes
    reached = job.backward_layers / shape.layers
    selective = job.checkpointing == "selective" and saves_attention(job)
    recomputed = 0 if selective else reached * job.recomputed_share
    return forward * (1 + 2.5 * reached + recomputed)


def attention_seconds(
    job: Job, hardware: HardwareFacts, tokens: float, *, peak: float, products: float
) -> float:
    """Return the seconds of attention in a micro-batch with this many tokens on a GPU.

    `peak` and `products` are operations per second: of the data sheet, and of matrix products.
    """
    is_hopper = (hardware.compute_capability or 0.0) >= _HOPPER
    operations = attention_operations(job) * tokens
    width = min(1.0, job.shape.head_dim / _WIDE_HEAD)
    reached = peak * (_NARROW_RATE + (1 - _NARROW_RATE) * width)
    masked = 2 * operations / (reached * (_HOPPER_MASKED if is_hopper else _MASKED))
    if job.attention == "eager" or (job.attention == "sdpa" and not repeats_keys(job.shape)):
        return _UNFUSED * masked
    flash = operations / min(reached * _HOPPER_FLASH if is_hopper else products, products)
    share = _masked_share(job)
    return share * masked + (1 - share) * flash


def _masked_share(job: Job) -> float:
    """Return the share of the attention layers that get a mask."""
    if job.attention != "sdpa":
        return 0.0
    if job.masked:
        return 1.0
    return job.shape.window_layers / job.shape.attention_layers() if job.windowed else 0.0


def adapter_traffic(job: Job) -> float:
    """Return the bytes that all adapters move per token, forward and backward."""
    if not job.targets or job.stack.fused_adapters or job.stack.joint_projections:
        return 0.0
    each = _INPUT_BYTES * (1 if job.dropout else _UNDROPPED)
    linears = [job.shape.linear_shapes[name] for name in job.targets]
    moved = sum(x.count * (each * x.in_features + _OUTPUT_BYTES * x.out_features) for x in linears)
    return moved * (1 + job.recomputed_share / 3)


def launching_seconds(job: Job) -> float:
    """Return the seconds that the host needs to launch the kernels of a pass, with its hooks."""
    adapted = sum(job.shape.linear_shapes[target].count for target in job.targets)
    seconds = job.shape.layers * _LAYER_SECONDS + _ADAPTED_SECONDS * adapted
    seconds *= job.shape.passes
    if job.storage != "plain":
        seconds += _QUANTIZED_SECONDS * sum(x.count for x in job.shape.linear_shapes.values())
    seconds *= 1 + job.recomputed_share / 3
    return seconds + (_hook_seconds(job) if job.sharding == "zero3" else 0.0)


def _hook_seconds(job: Job) -> float:
    """Return the seconds of ZeRO-3's hooks in a forward, a backward and a recomputing pass."""
    linears = job.shape.linear_shapes
    modules = job.shape.layers * _PLAIN_MODULES + sum(x.count for x in linears.values())
    modules += _ADAPTER_MODULES * sum(linears[target].count for target in job.targets)
    return _HOOKED_SECONDS * modules * (2 + job.recomputed_share)
