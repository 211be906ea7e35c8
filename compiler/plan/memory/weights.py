"""The bytes of weights, plain or quantized, whole or in shards; and their temporary copies."""

from dataclasses import dataclass

from ftc.compiler.plan.job import Job

_BLOCK = 64  # bitsandbytes: weights per absmax
_NESTED_BLOCK = 256  # absmax per second-level absmax under double quantization
_CODE_BYTES = 1024  # bitsandbytes: one table of 256 fp32 per matrix under double quantization
_GROUP = 128  # GPTQ: weights per scale and zero point
_FP32, _HALF = 4, 2
_DORA_MATRICES = 4  # base, adapter's product, its scaled copy and their sum, in fp32


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A model's weights as stored: FSDP can divide `shared_bytes`, but not `whole_bytes`."""

    shared_bytes: int
    whole_bytes: int


def base_weights(job: Job) -> Base:
    """Return the bytes of all weights that the checkpoint has.

    NF4 (arXiv 2305.14314; bitsandbytes `functional.quantize_4bit`): half a byte a weight, and an
    fp32 absmax per 64; double quantization makes that one byte, with an fp32 per 256 of them and a
    table per matrix. GPTQ: 4 bits, fp16 scales and packed zeros per 128 or per output, an int32
    group index per input feature. LLM.int8 (`Int8Params`): a byte a weight and an fp32 scale per
    output. Embedding, head and norms stay 16-bit. FSDP divides what are
    parameters: absmax, scales and group indices are not, and stay whole (measured on 2 and 4 GPUs).
    """
    shape = job.shape
    if job.storage == "plain":
        width = job.frozen_bytes or job.load_bytes
        widened = (job.load_bytes - width) * job.trainable
        loaded = shape.parameters + shape.frozen_parameters
        return Base(shared_bytes=loaded * width + widened, whole_bytes=0)
    linear = linear_weights(job)
    rest = (shape.parameters + shape.frozen_parameters - linear) * job.load_bytes
    norms = rest_vectors(job) * (_FP32 - job.load_bytes) if job.stack.upcast_norms else 0
    kinds = shape.linear_shapes.values()
    if job.storage == "nf4":
        whole = linear // _BLOCK * _FP32
    elif job.storage == "int8":
        whole = sum(kind.count * kind.out_features for kind in kinds) * _FP32
    elif job.storage == "nf4-double":
        nested = linear // _BLOCK
        whole = nested + nested // _NESTED_BLOCK * _FP32
        whole += (sum(kind.count for kind in kinds) + expert_matrices(job)) * _CODE_BYTES
    else:
        whole = _scales(job, linear) * _HALF
        whole += sum(kind.count * kind.in_features for kind in kinds) * _FP32
        inputs = 2 * shape.hidden + shape.expert_intermediate
        whole += expert_matrices(job) // 3 * inputs * _FP32
    return Base(shared_bytes=quantized_bytes(job, linear) + rest + norms, whole_bytes=whole)


def linear_weights(job: Job) -> int:
    """Return how many weights the linear modules have, which a quantized base stores in 4 bits.

    Experts count where they are modules of their own; fused tensors stay in 16 bits.
    """
    own = job.stack.looped_experts or job.shape.expert_modules
    experts = job.shape.expert_parameters if own else 0
    return job.shape.linear_parameters + experts


def expert_matrices(job: Job) -> int:
    """Return how many matrices of experts are quantized one by one."""
    shape = job.shape
    each = len(shape.expert_modules) or (3 if job.stack.looped_experts else 0)
    return each * shape.experts * shape.sparse_layers()


def quantized_bytes(job: Job, linear: int) -> int:
    """Return the bytes of a number of quantized linear weights, without their scales."""
    if job.storage == "plain":
        return linear * job.load_bytes
    if job.storage == "int8":
        return linear
    zeros = _scales(job, linear) // 2 if job.storage.startswith("gptq") else 0
    return linear // 2 + zeros


def _scales(job: Job, linear: int) -> int:
    """Return how many scales GPTQ has for a number of weights."""
    if job.storage != "gptq-4-row":
        return linear // _GROUP
    shape = job.shape
    rows = sum(kind.count * kind.out_features for kind in shape.linear_shapes.values())
    return rows * linear // max(1, shape.linear_parameters)


def rest_vectors(job: Job) -> int:
    """Return how many parameters are outside linear modules, embedding and head: mostly norms."""
    shape = job.shape
    outside = shape.embedding_parameters + shape.head_parameters + shape.expert_parameters
    return max(0, shape.parameters - shape.linear_parameters - outside)


def layer_weights(job: Job) -> int:
    """Return the bytes of one whole layer as a sharded run gathers it."""
    shape = job.shape
    linear = linear_weights(job) // shape.layers
    others = shape.largest_layer_parameters - linear
    width = job.compute_bytes if job.full else job.load_bytes
    if job.storage == "plain":
        return shape.largest_layer_parameters * width
    return quantized_bytes(job, linear) + others * width


def root_weights(job: Job) -> int:
    """Return the bytes of embedding and head."""
    width = job.compute_bytes if job.full and job.fsdp else job.load_bytes
    return (job.shape.embedding_parameters + job.shape.head_parameters) * width


def largest_linear(job: Job) -> int:
    """Return the parameters of the largest linear module of a layer, 0 where none is named."""
    sizes = (kind.in_features * kind.out_features for kind in job.shape.linear_shapes.values())
    return max(sizes, default=0)


def autocast_copies(job: Job) -> int:
    """Return the bytes of 16-bit copies of fp32 linear weights that autocast caches in a pass."""
    if not job.mixed:
        return 0
    linear = job.shape.linear_parameters
    return (min(linear, job.trainable) if job.halved else linear) * job.compute_bytes


def token_copies(job: Job) -> int:
    """Return the additional bytes of training some rows of an embedding.

    PEFT's `TrainableTokensLayer` puts them into a copy of the embedding, which a tied head keeps.
    The gradient of that copy has the same size.
    """
    if not job.trained_tokens:
        return 0
    copies = 2 if job.shape.tied else 1
    return copies * job.shape.vocab * job.shape.hidden * job.load_bytes


def kept_matrices(job: Job, *, layers: int) -> int:
    """Return the bytes of weights that layers keep for their backward pass.

    Fused experts with adapters are one: the sum of base and adapter (`merged_experts`). DoRA's are
    others, with dropout: PEFT's `DoraLinearLayer.forward` then multiplies with a copy of the base's
    weight.
    """
    merged = merged_experts(job) * -(-layers * job.shape.sparse_layers() // job.shape.layers)
    if not (job.dora and job.dropout):
        return merged
    return merged + targeted_weights(job) * job.compute_bytes * layers // job.shape.layers


def merged_experts(job: Job) -> int:
    """Return the bytes of a layer's fused experts, to which PEFT adds their adapters in each pass.

    `_LoraFactorsProxy` makes the sum for all experts at once, whichever a token is sent to, in the
    type of the base. The products of the experts keep it.
    """
    if not job.adapts_experts:
        return 0
    shape = job.shape
    return 3 * shape.experts * shape.expert_intermediate * shape.hidden * job.load_bytes


def expert_gradients(job: Job) -> int:
    """Return the bytes of the gradients of a layer's merged experts beside those experts.

    That of the down projection comes first. It is used up, and what it belongs to is freed, before
    that of the other two is there, which is twice as large.
    """
    return merged_experts(job) // 3


def passing_matrices(job: Job) -> int:
    """Return the bytes of temporary copies that one linear module makes of its weight.

    DoRA's norm is that of base and adapter together (`get_weight_norm`); the backward pass of an
    eight-bit base widens one weight (`MatMul8bitLt.backward`).
    """
    widened = largest_linear(job) * job.compute_bytes if job.storage == "int8" else 0
    if not job.dora:
        return widened
    kinds = [job.shape.linear_shapes[name] for name in job.targets]
    sizes = (
        _DORA_MATRICES * kind.in_features * kind.out_features + kind.in_features**2
        for kind in kinds
    )
    return max(widened, _FP32 * max(sizes, default=0))


def targeted_weights(job: Job) -> int:
    """Return how many weights of the base have an adapter."""
    kinds = [job.shape.linear_shapes[name] for name in job.targets]
    return sum(kind.count * kind.in_features * kind.out_features for kind in kinds)
