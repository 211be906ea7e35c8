"""Whole matrices that exist for a moment, or for a pass: copies of weights, in bytes."""

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.weights import largest_linear

_FP32 = 4
_DORA_MATRICES = 4  # base, adapter's product, its scaled copy and their sum, in fp32


def autocast_copies(job: Job) -> int:
    """16-bit copies of fp32 linear weights that autocast caches during a forward pass."""
    if not job.mixed:
        return 0
    return job.shape.linear_parameters * job.compute_bytes


def token_copies(job: Job) -> int:
    """Return what trained rows of an embedding cost beside themselves.

    PEFT's `TrainableTokensLayer` puts them into a copy of the embedding, which a tied head keeps,
    and the gradient of that copy is as large.
    """
    if not job.trained_tokens:
        return 0
    copies = 2 if job.shape.tied else 1
    return copies * job.shape.vocab * job.shape.hidden * job.load_bytes


def kept_matrices(job: Job, *, layers: int) -> int:
    """Return the weights that so many layers keep for their backward pass: DoRA's, with dropout.

    PEFT's `DoraLinearLayer.forward` then multiplies with a copy of the base's weight.
    """
    if not (job.dora and job.dropout):
        return 0
    return targeted_weights(job) * job.compute_bytes * layers // job.shape.layers


def passing_matrices(job: Job) -> int:
    """Return what one linear module makes of its weight for a moment.

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
    """Return the base's weights that have an adapter."""
    kinds = [job.shape.linear_shapes[name] for name in job.targets]
    return sum(kind.count * kind.in_features * kind.out_features for kind in kinds)
