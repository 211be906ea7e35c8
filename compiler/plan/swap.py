"""What a run keeps in files of a local disk, what the host still holds of it, and its seconds.

DeepSpeed 0.19 (`runtime/swap_tensor`, `stage3.py`): a process updates its share of the weights a
sub-group at a time, each read from the disk and written back.
"""

from typing import Final

from ftc.compiler.knowledge.architecture import Shape
from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.offload import pinned_bytes
from ftc.compiler.plan.source import derived
from ftc.compiler.plan.states import trained_bytes

#: Weights of one process that are updated at a time. DeepSpeed's own number, ten times this, takes
#: 16 GB of buffers for each process.
SUB_GROUP: Final = 10**8
#: Of the optimizer: a weight, its gradient and two moments are there at once.
STATE_BUFFERS: Final = 4
#: Of weights: those of the modules that compute, one in the other (DeepSpeed's own number).
WEIGHT_BUFFERS: Final = 5
#: Bytes per second of a node's disk, reading or writing: an assumption. One drive on four lanes of
#: PCIe's third generation reads 3.5e9, and several together are faster.
ASSUMED_DISK: Final = 3e9
_FP32: Final = 4
_STATES: Final = 4  # in files: an fp32 master, its gradient and two moments


def largest_shard(shape: Shape, world: int) -> int:
    """Return the most weights of one matrix that a process holds; experts are one matrix a layer.

    DeepSpeed stops where a buffer is smaller (`get_buffer` of `partitioned_param_swapper.py`).
    """
    sizes = [kind.in_features * kind.out_features for kind in shape.linear_shapes.values()]
    experts = shape.expert_parameters // max(1, shape.layers)
    whole = max([*sizes, shape.embedding_parameters, shape.head_parameters, experts])
    return -(-whole // world)


def swap_host_bytes(job: Job) -> int:
    """Return what all processes hold on their hosts of what lies on the disk: buffers, no states.

    For each process the gradients of all passes, in 16 bits and pinned; a sub-group's buffers; the
    two moments that the first step makes. For weights on the disk the buffers that they are read
    into, and one that a sub-group is written from, which DeepSpeed sizes by whole weights and not
    by shares (`reserve_partitioned_swap_space`).
    """
    share = -(-job.trainable // job.world)
    shard = largest_shard(job.shape, job.world)
    group = min(share, SUB_GROUP + shard)
    own = pinned_bytes(share * trained_bytes(job)) + (STATE_BUFFERS + 2) * _FP32 * group
    if job.weights_on_host:
        own += (WEIGHT_BUFFERS * shard + job.world * group) * job.load_bytes
    return job.world * own


def swap_file_bytes(job: Job) -> int:
    """Return the bytes of the files of one node's disk."""
    states = _STATES * _FP32 * job.trainable
    weights = job.shape.parameters * job.load_bytes if job.weights_on_host else 0
    return -(-(states + weights) // job.nodes)


def swap_seconds(job: Job) -> float:
    """Return the seconds of a step in which a node waits for its disk.

    A step reads what the files hold of the states and writes it, gradients included; weights on the
    disk are read for each pass, before it is computed, and written after the step.
    """
    if not job.swaps:
        return 0.0
    speed = ASSUMED_DISK * job.nodes
    moved = 2 * _STATES * _FP32 * job.trainable
    if not job.weights_on_host:
        return moved / speed
    moved += job.trainable * job.load_bytes
    reads = 3 if job.checkpointing else 2
    reading = reads * job.shape.parameters * job.load_bytes / speed
    return moved / speed + job.accumulation * reading


def decide_nvme(job: Job) -> Decision[int] | None:
    """Return the bytes that a node's disk holds of what is offloaded; None where it holds none."""
    if not job.swaps:
        return None
    moved = 2 * _STATES * _FP32 * job.trainable // job.nodes
    key = "nvme.parameters" if job.weights_on_host else "nvme.optimizer"
    return derived(
        swap_file_bytes(job), key, moved_bytes=moved, assumed_gb=round(ASSUMED_DISK / 1e9)
    )
