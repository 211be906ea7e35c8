"""What a run leaves on the disk and needs of the host's memory, in bytes."""

from collections.abc import Mapping

from ftc.compiler.plan.job import Job
from ftc.compiler.plan.offload import offloaded_bytes
from ftc.compiler.plan.optimizer import moment_bytes, paged_bytes, state_bytes
from ftc.compiler.plan.stack import GIB
from ftc.compiler.plan.states import trained_bytes
from ftc.compiler.plan.swap import swap_host_bytes
from ftc.spec.sections import Spec

_FP32 = 4
_SHARD_BYTES = 5 * GIB  # one file of weights in memory while it is saved


def checkpoint_bytes(job: Job) -> int:
    """One checkpoint: trained weights and the optimiser's states, over all processes.

    DeepSpeed saves an fp32 master and its states beside the 16-bit weights.
    """
    width = trained_bytes(job)
    if job.deepspeed:
        return round(job.trainable * (width + _FP32 + state_bytes(job, _FP32)))
    return job.trainable * width + moment_bytes(job, width) + paged_bytes(job)


def disk_bytes(spec: Spec, job: Job, exports: Mapping[str, int]) -> int:
    """Return the most that `run/` holds.

    Checkpoints and the best one, the trained model, the merged 16-bit folder, the 16-bit GGUF
    that the others are made from, and each GGUF; an adapter's, in fp32, and its base's in F16.
    Verifying them takes two bytes per word of the vocabulary at every token that is judged.
    """
    checkpoints = (spec.training.keep_checkpoints + 1) * checkpoint_bytes(job)
    trained = job.trainable * trained_bytes(job)
    merged = 2 * job.shape.parameters
    between = 2 * job.shape.parameters if exports else 0
    apart = 2 * job.shape.parameters + 4 * job.trainable if spec.export.adapter else 0
    judged = 2 * job.shape.vocab * spec.export.verify.tokens if exports or apart else 0
    return checkpoints + trained + merged + between + sum(exports.values()) + apart + judged


def merge_bytes(job: Job) -> int:
    """Host memory of the merge on a CPU: the 16-bit model, and a file of it while saving."""
    whole = 2 * job.shape.parameters
    return whole + min(whole, _SHARD_BYTES) + GIB


def host_ram_bytes(job: Job, device_bytes: int) -> int:
    """Return the most host memory of any stage on one node: loading, training, merging.

    Training needs it on a CPU, and on GPUs for what is offloaded, beside the processes themselves.
    """
    whole = job.shape.parameters * job.load_bytes
    processes = job.node_processes
    loading = processes * (min(whole, _SHARD_BYTES) + GIB)
    held = swap_host_bytes(job) if job.swaps else offloaded_bytes(job)
    waiting = -(-held // job.nodes) + processes * paged_bytes(job)
    training = waiting + processes * GIB if job.gpu else processes * device_bytes
    return max(loading, training, merge_bytes(job))
