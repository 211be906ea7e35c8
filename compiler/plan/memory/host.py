"""Resources outside the GPU: host memory and disk space."""

from collections.abc import Mapping
from typing import Final

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.plan.decision import Decision, derived
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import input_host_bytes
from ftc.compiler.plan.memory.states import moment_bytes, paged_bytes, state_bytes, trained_bytes
from ftc.compiler.plan.software import GIB
from ftc.compiler.resolve.facts import KnownFacts, ModelFacts
from ftc.spec.sections import Spec

_FP32: Final = 4
_MOMENTS: Final = 2 * _FP32
#: The weights of one process that are updated at a time. DeepSpeed's default, ten times this
#: number, needs 16 GB of buffers per process.
SUB_GROUP: Final = 10**8
#: Of the optimizer: a weight, its gradient and two moments are there at once.
STATE_BUFFERS: Final = 4
#: Of weights: those of the modules that compute, one in the other (DeepSpeed's own number).
WEIGHT_BUFFERS: Final = 5
#: Assumed bytes per second for reading or writing a node's disk. One NVMe drive on four lanes of
#: PCIe 3.0 reads 3.5e9, and several together are faster.
ASSUMED_DISK: Final = 3e9
_STATES: Final = 4  # in files: an fp32 master, its gradient and two moments
_SHARD_BYTES = 5 * GIB  # one file of weights in memory while it is saved


def checkpoint_bytes(job: Job) -> int:
    """Return the bytes of a checkpoint: saved weights and optimizer states of all processes.

    DeepSpeed saves an fp32 master and its states, and below ZeRO-3 its own file of the weights
    (`_save_checkpoint` of `engine.py`) beside the Trainer's.
    """
    saved, width = saved_bytes(job), trained_bytes(job)
    if job.deepspeed:
        twice = 1 if job.sharding == "zero3" else 2
        return twice * saved + round(job.trainable * (_FP32 + state_bytes(job, _FP32)))
    return saved + moment_bytes(job, width) + paged_bytes(job)


def saved_bytes(job: Job) -> int:
    """Return the bytes of the weights that the Trainer saves: an adapter, or all of the model."""
    frozen = 0
    if job.full:
        whole = job.shape.parameters + job.shape.frozen_parameters
        frozen = (whole - job.trainable) * (job.frozen_bytes or job.load_bytes)
    return job.trainable * trained_bytes(job) + frozen


def download_bytes(facts: KnownFacts) -> int:
    """Return the bytes of the weights that the run downloads from the Hub: the base's, a teacher's.

    Where their files are not listed, these are the weights in the type that the config names.
    """
    teacher = facts.teacher
    models = [facts.model, *([] if teacher is None or teacher.is_student else [teacher.model])]
    return sum(
        model.weights_bytes or _count_all(model) * (_FP32 if model.dtype == "float32" else 2)
        for model in models
        if model.origin in {"hub", "table"}
    )


def _count_all(model: ModelFacts) -> int:
    """Return the weights of a model with its tower and projector."""
    tower = model.vision.tower if model.vision is not None else None
    return model.parameters + (tower.parameters + tower.projector_parameters if tower else 0)


def disk_bytes(spec: Spec, job: Job, exports: Mapping[str, int], *, validated: bool) -> int:
    """Return the most bytes that `run/` has at any time.

    These are the kept checkpoints and the one that is being written, the trained model, the merged
    16-bit folder, the 16-bit GGUF that the others are made from, each GGUF, and each folder for
    vLLM; an adapter's in fp32, and its base's in F16. Verification takes two bytes per word of the
    vocabulary for each token that it compares. Before these files, the merge has the model twice,
    as transformers saved it and in the base's files.
    """
    kept = max(spec.training.keep_checkpoints, 2 if validated else 1)  # the newest and the best
    checkpoints = (kept + 1) * checkpoint_bytes(job)
    trained = saved_bytes(job)
    merged = 2 * (job.shape.parameters + job.shape.frozen_parameters)
    between = 2 * job.shape.parameters if spec.export.types else 0
    apart = 2 * job.shape.parameters + 4 * job.trainable if spec.export.adapter else 0
    judged = 2 * job.shape.vocab * spec.export.verify.tokens if exports or apart else 0
    after = between + sum(exports.values()) + apart + judged
    return checkpoints + trained + merged + max(merged, after)


def merge_bytes(job: Job) -> int:
    """Return the host memory of a merge: the 16-bit model, and one of its files while saving."""
    whole = 2 * (job.shape.parameters + job.shape.frozen_parameters)
    return whole + min(whole, _SHARD_BYTES) + GIB


def host_ram_bytes(job: Job, device_bytes: int) -> int:
    """Return the most host memory of any stage on one node: loading, training, merging.

    Training needs host memory on a CPU, for what is offloaded or kept there for the backward pass,
    and for the processes themselves.
    """
    processes = job.node_processes
    loading = loading_bytes(job)
    held = swap_host_bytes(job) if job.swaps else offloaded_bytes(job)
    waiting = -(-held // job.nodes) + processes * (paged_bytes(job) + input_host_bytes(job))
    training = waiting + processes * GIB if job.gpu else processes * device_bytes
    return max(loading, training, merge_bytes(job))


def loading_bytes(job: Job) -> int:
    """Return the host memory of all processes of a node while the model is loaded.

    Each process loads the whole model into the host's memory. Under FSDP only the first of a node
    does (accelerate's `fsdp_cpu_ram_efficient_loading`); ZeRO-3 divides each weight as it is read,
    and a quantized one is read to the device. The other weights need memory where they are not
    the file's own pages (`copied_bytes`).
    """
    largest = max(job.shape.parameters, job.teacher.shape.parameters if job.teacher else 0)
    each = min(largest * job.load_bytes, _SHARD_BYTES)
    if job.storage != "plain" or job.sharding == "zero3":
        return job.node_processes * (each + GIB)
    copied = max(each, copied_bytes(job))
    others = 0 if job.fsdp else copied
    return copied + (job.node_processes - 1) * others + job.node_processes * GIB


def copied_bytes(job: Job) -> int:
    """Return the bytes of a loaded model that are not mapped from its file.

    safetensors maps the file into memory, where weights of its own type stay. Weights of another
    type are copies, and so are fused experts, which transformers joins from a tensor for each. A
    frozen copy of the model is loaded before the model has moved to the device.
    """
    shape = job.shape
    copies = 2 if job.reference == "copy" else 1
    if job.frozen_bytes is not None:  # only trained layers are widened
        return job.trainable * job.load_bytes
    if job.load_bytes != job.file_bytes:
        return copies * (shape.parameters + shape.frozen_parameters) * job.load_bytes
    return copies * shape.expert_parameters * job.load_bytes


def offloaded_bytes(job: Job) -> int:
    """Return the bytes of states and weights that all processes offload to the host.

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
    """Return the bytes of a pinned buffer: torch's host allocator rounds up to a power of two."""
    return 1 << max(0, size_bytes - 1).bit_length()


def _weights(job: Job) -> int:
    """Return the bytes of the pinned shards of all weights, one buffer per matrix and process."""
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


def largest_shard(shape: Shape, world: int) -> int:
    """Return the weights in the largest shard of a matrix; the experts of a layer are one matrix.

    DeepSpeed fails where a buffer is smaller (`get_buffer` of `partitioned_param_swapper.py`).
    """
    sizes = [kind.in_features * kind.out_features for kind in shape.linear_shapes.values()]
    experts = shape.expert_parameters // max(1, shape.sparse_layers())
    whole = max([*sizes, shape.embedding_parameters, shape.head_parameters, experts])
    return -(-whole // world)


def swap_host_bytes(job: Job) -> int:
    """Return the host memory of states that are on the disk: the buffers of all processes.

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
    """Return the bytes of the swap files on one node's disk."""
    states = _STATES * _FP32 * job.trainable
    weights = job.shape.parameters * job.load_bytes if job.weights_on_host else 0
    return -(-(states + weights) // job.nodes)


def swap_seconds(job: Job) -> float:
    """Return the seconds per step that a node waits for its disk.

    A step reads and writes the states and gradients in the files. Weights on the disk are read
    before each pass and written after the step.
    """
    if not job.swaps:
        return 0.0
    speed = ASSUMED_DISK * job.nodes
    moved = 2 * _STATES * _FP32 * job.trainable
    if not job.weights_on_host:
        return moved / speed
    moved += job.trainable * job.load_bytes
    reads = 2 + job.recomputed_share
    reading = reads * job.shape.parameters * job.load_bytes / speed
    return moved / speed + job.accumulation * reading


def decide_nvme(job: Job) -> Decision[int] | None:
    """Decide the bytes of offloaded states on a node's disk; None where there are none."""
    if not job.swaps:
        return None
    moved = 2 * _STATES * _FP32 * job.trainable // job.nodes
    key = "nvme.parameters" if job.weights_on_host else "nvme.optimizer"
    return derived(
        swap_file_bytes(job), key, moved_bytes=moved, assumed_gb=round(ASSUMED_DISK / 1e9)
    )
