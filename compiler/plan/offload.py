"""What an offloaded run keeps in the host's memory, in bytes of all its processes."""

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.states import trained_bytes

_FP32 = 4
_MOMENTS = 2 * _FP32


def offloaded_bytes(job: Job) -> int:
    """Return the host's share of the states and weights of all processes.

    DeepSpeed 0.19 (`stage_1_and_2.py`, `stage3.py`): an fp32 master and its gradient, a narrow copy
    on the way back, the gradients of several passes, and AdamW's two moments, which torch makes
    and does not pin. Offloaded weights are a pinned buffer per matrix and process. FSDP pins its
    shards and their gradients (torch's `CPUOffloadPolicy`), and has no other master.
    """
    if not job.states_on_host:
        return 0
    if job.fsdp:
        beside = 0 if job.full else trained_bytes(job)
        pinned = _weights(job) + pinned_bytes(job.trainable * (trained_bytes(job) + beside))
        return pinned + job.trainable * 2 * trained_bytes(job)
    share = -(-job.trainable // job.world)
    narrow = share * trained_bytes(job)
    several = job.accumulation > 1 or job.sharding == "zero3"
    pinned = 2 * pinned_bytes(_FP32 * share) + pinned_bytes(narrow)
    pinned += pinned_bytes(narrow) if several else 0
    states = job.world * (pinned + _MOMENTS * share)
    return states + (_weights(job) if job.weights_on_host else 0)


def pinned_bytes(size_bytes: int) -> int:
    """Return what page-locked memory takes: torch's host allocator rounds up to a power of two."""
    return 1 << max(0, size_bytes - 1).bit_length()


def _weights(job: Job) -> int:
    """Return the pinned shards of all weights: each matrix of each process by itself."""
    shape, world, width = job.shape, job.world, job.load_bytes
    if not shape.linear_shapes:
        return pinned_bytes(shape.parameters * width)
    kinds = shape.linear_shapes.values()
    shards = [(kind.count, kind.in_features * kind.out_features) for kind in kinds]
    tables = [(1, shape.embedding_parameters), (1, shape.head_parameters)]
    named = [(count, size) for count, size in (*shards, *tables) if size]
    rest = shape.parameters - sum(count * size for count, size in named)
    rounded = sum(count * pinned_bytes(-(-size // world) * width) for count, size in named)
    return world * rounded + max(0, rest) * width
